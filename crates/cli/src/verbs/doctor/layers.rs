//! The layers of the sandbox, each tried on this machine.

use crate::error::Problem;
use crate::exit::Exit;
use crate::print::{Form, Out};
use serde_json::{Value, json};
use tripwire_sandbox::{LayerCheck, LayerHealth, Stage};

/// Runs `doctor sandbox`: one line per layer.
pub(crate) fn run(form: Form) -> Result<Exit, Problem> {
    let checks = tried();
    let broken = checks.iter().any(|check| check.health == LayerHealth::Missing);
    let mut out = Out::lock();
    if form.json {
        let list: Vec<Value> = checks
            .iter()
            .map(|check| {
                json!({"layer": check.layer.name(), "state": check.health.name(), "detail": check.detail,
                       "meaning": check.meaning, "fix": check.fix})
            })
            .collect();
        out.line(&json!({"schema": 1, "works": !broken, "layers": list}).to_string())?;
    } else {
        for check in &checks {
            out.line(&format!("{:<11} {:<9} {}", check.layer.name(), check.health.name(), check.detail))?;
            if check.health == LayerHealth::Missing {
                out.line(&format!("{:21} means: {}\n{:21} fix:   {}", "", check.meaning, "", check.fix))?;
            }
        }
    }
    out.flush()?;
    Ok(if broken { Exit::DoesNotHold } else { Exit::Done })
}

/// Tries every layer in a throw-away workspace.
pub(crate) fn tried() -> Vec<LayerCheck> {
    let scratch = std::env::temp_dir().join(format!("tripwire-doctor-{}", std::process::id()));
    let checks = tripwire_sandbox::doctor(&scratch, None);
    if let Ok(stage) = Stage::open(&scratch.join("stage"), &scratch.join("workspace")) {
        // Only then can the closed work folder of the overlay be removed; an empty folder stays in the temporary one.
        drop(stage.discard());
    }
    drop(std::fs::remove_dir_all(&scratch));
    checks
}
