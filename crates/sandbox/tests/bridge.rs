//! The bridge: a command reaches the host's unix socket through a loopback port, and nothing else. A main of its own, because
//! this binary is its own inner stage.
#![expect(clippy::expect_used, clippy::panic, reason = "a broken premise must end the test")]

#[cfg(not(target_os = "linux"))]
fn main() {}

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    if let Some(code) = tripwire_sandbox::inner_main() {
        return std::process::ExitCode::from(code);
    }
    if !std::env::args().any(|arg| arg == "--list") {
        linux::main();
    }
    std::process::ExitCode::SUCCESS
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs;
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;
    use std::os::unix::net::UnixListener;
    use std::path::Path;

    use tripwire_sandbox::{Outcome, Report, Sandbox};

    pub(super) fn main() {
        let top = std::env::temp_dir().join(format!("tw-bridge-{}", std::process::id()));
        fs::create_dir_all(top.join("ws")).expect("a workspace");
        let listener = UnixListener::bind(top.join("host.sock")).expect("a socket");
        let server = listener.try_clone().expect("a handle");
        std::thread::spawn(move || {
            for mut stream in server.incoming().flatten() {
                let mut request = [0_u8; 64];
                let count = stream.read(&mut request).unwrap_or(0);
                let answer = String::from_utf8_lossy(&request[..count]).to_uppercase();
                // A client that left early is no concern of the server's.
                drop(stream.write_all(answer.as_bytes()));
            }
        });
        bytes_are_carried_both_ways(&top, &listener);
        the_loopback_of_the_host_is_another_one(&top, &listener);
        without_a_bridge_the_port_is_closed(&top);
        a_socket_without_a_path_is_refused(&top);
        fs::remove_dir_all(&top).expect("clean");
    }

    fn run(spec: &Sandbox) -> Report {
        match spec.run() {
            Outcome::Ran(report) => report,
            Outcome::NotRun(refused) => {
                panic!("not run: {} {}", refused.layer.name(), refused.cause)
            }
        }
    }

    fn spec(top: &Path, script: &str) -> Sandbox {
        Sandbox::new(&top.join("ws"), ["bash", "-c", script]).expect("a spec")
    }

    const ASK: &str = "p=${https_proxy##*:}; for i in 1 2 3; do exec 3<>/dev/tcp/127.0.0.1/${p:-3128} || exit 9; printf 'hello %s' $i >&3; cat <&3; echo; done; env | grep -c _proxy=";

    fn bytes_are_carried_both_ways(top: &Path, listener: &UnixListener) {
        let report = run(&spec(top, ASK).bridge(listener).expect("a bridge"));
        let stdout = String::from_utf8_lossy(&report.stdout.bytes).into_owned();
        assert!(stdout.starts_with("HELLO 1\nHELLO 2\nHELLO 3\n"), "{stdout} {report:?}");
        assert!(stdout.trim_end().ends_with('4'), "the usual variables are set: {stdout}");
    }

    fn the_loopback_of_the_host_is_another_one(top: &Path, listener: &UnixListener) {
        let host = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = host.local_addr().expect("an address").port();
        let script = format!(
            "(exec 3<>/dev/tcp/127.0.0.1/{port}) 2>/dev/null && echo reached; ls {} 2>/dev/null && echo seen; true",
            top.join("host.sock").display()
        );
        let report = run(&spec(top, &script).bridge(listener).expect("a bridge"));
        assert!(report.stdout.bytes.is_empty(), "{report:?}");
    }

    fn without_a_bridge_the_port_is_closed(top: &Path) {
        let report = run(&spec(top, &format!("{{ {ASK}; }} 2>/dev/null")));
        assert_eq!(report.end, tripwire_sandbox::End::Exited(9), "{report:?}");
    }

    fn a_socket_without_a_path_is_refused(top: &Path) {
        use std::os::linux::net::SocketAddrExt as _;
        let name = std::os::unix::net::SocketAddr::from_abstract_name(format!("tw-bridge-{}", std::process::id()))
            .expect("a name");
        let unnamed = UnixListener::bind_addr(&name).expect("a socket");
        assert!(spec(top, "true").bridge(&unnamed).is_err());
    }
}
