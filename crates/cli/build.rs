//! How the binary is linked.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let set = |name: &str| std::env::var(name).unwrap_or_default();
    if set("CARGO_CFG_TARGET_OS") != "linux" || set("CARGO_CFG_TARGET_ENV") != "gnu" {
        return;
    }
    // At a fixed address the start writes no addresses into the image: a position-independent one of this size copies half a
    // megabyte at each start, and a hook or a confined command starts it once or twice. Stack, heap and libraries stay at
    // random addresses. See docs/decisions.
    println!("cargo:rustc-link-arg-bin=tripwire=-no-pie");
    if set("CARGO_CFG_TARGET_FEATURE").split(',').any(|feature| feature == "crt-static") {
        println!("cargo:rustc-link-arg-bin=tripwire=-static");
        // Functions with the same instructions are kept once and then share an address. The compiler warns of code that compares
        // addresses of functions.
        println!("cargo:rustc-link-arg-bin=tripwire=-Wl,--icf=all");
        order_functions(&set("CARGO_CFG_TARGET_ARCH"), &set("CARGO_MANIFEST_DIR"));
    }
}

/// Puts the functions that a hook runs side by side, so that its start reads few pages. `packaging/ordering-cc.sh` turns the
/// names of the list into this build's symbols; any other linker finds none of them and changes nothing.
fn order_functions(architecture: &str, folder: &str) {
    let list = std::path::Path::new(folder).join("../../packaging/hook-order.txt");
    println!("cargo:rerun-if-changed={}", list.display());
    if architecture == "x86_64" && list.exists() {
        for word in [format!("--symbol-ordering-file={}", list.display()), "--no-warn-symbol-ordering".to_owned()] {
            println!("cargo:rustc-link-arg-bin=tripwire=-Xlinker");
            println!("cargo:rustc-link-arg-bin=tripwire={word}");
        }
    }
}
