//! The version, and the facts of the build: which sources, by which compiler, for which machine.

use crate::error::Problem;
use crate::exit::Exit;
use crate::print::Out;

/// What a build knows of itself. `cargo xtask dist` sets the variables; a plain build has them not.
const FACTS: [(&str, &str); 7] = [
    ("commit", or_unknown(option_env!("TRIPWIRE_BUILD_COMMIT"))),
    ("target", or_unknown(option_env!("TRIPWIRE_BUILD_TARGET"))),
    ("rustc", or_unknown(option_env!("TRIPWIRE_BUILD_RUSTC"))),
    ("source date", or_unknown(option_env!("TRIPWIRE_BUILD_EPOCH"))),
    ("linking", if cfg!(target_feature = "crt-static") { "static" } else { "dynamic" }),
    ("telemetry", if cfg!(feature = "telemetry") { "built in" } else { "not built in" }),
    ("fleet on NATS", if cfg!(feature = "fleet") { "built in" } else { "not built in" }),
];

/// How much is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VersionDetail {
    /// The number alone.
    Number,
    /// Every fact of the build.
    Everything,
}

/// Prints the version.
pub(crate) fn print(detail: VersionDetail) -> Result<Exit, Problem> {
    let facts = detail == VersionDetail::Everything;
    let mut out = Out::lock();
    out.line(&format!("tripwire {}", env!("CARGO_PKG_VERSION")))?;
    for (name, value) in FACTS.iter().filter(|_| facts) {
        out.line(&format!("{name}: {value}"))?;
    }
    if facts {
        out.line(&format!("stdio protocol: {}", tripwire_embed::stdio::PROTOCOL_VERSION))?;
    }
    out.flush()?;
    Ok(Exit::Done)
}

const fn or_unknown(fact: Option<&'static str>) -> &'static str {
    match fact {
        Some(fact) => fact,
        None => "unknown",
    }
}
