//! The sources of the workspace at the start of the run, to find changes that no tool call showed.
//!
//! An agent may change code by ways that cannot be seen from the call: a script of its own, a program in another language.
//! Before tests run and when the agent says that it is done, the sources are held against what they were. Only what looks
//! like source counts: logs, caches and build products come and go without anybody's work being unproved.

use tripwire_core::chain::event::{Action, AgentEvent, DiskChanges, Flag, Flags, Outcome};
use tripwire_core::input::What;
use tripwire_core::label::Label;

/// The fact that sources changed; nothing if none did.
pub(crate) fn event(changes: DiskChanges) -> Option<What> {
    let target = changes.code.first()?;
    let action = Action {
        tool: Label::cut("workspace"),
        signature: Some(Label::cut(&format!("Changed({target})"))),
        target: Some(target.clone()),
        ..Action::default()
    };
    Some(What::Event(AgentEvent {
        action: Some(action),
        changes: Some(changes),
        outcome: Some(Outcome::default()),
        flags: Flags::default().with(Flag::Edit),
        ..AgentEvent::default()
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use tripwire_session::file_marks::FileMarks;
    use tripwire_session::sources::is_source;

    fn changed(before: &FileMarks) -> Option<Label> {
        before.changes_until(&before.again().unwrap(), is_source).code.first().cloned()
    }

    #[test]
    fn dirty_1_a_source_that_changed_appeared_or_went_is_found() {
        let place = tempfile::tempdir().unwrap();
        let source = place.path().join("src/a.py");
        let change = |act: &dyn Fn()| {
            let before = FileMarks::of(place.path()).unwrap();
            act();
            changed(&before)
        };
        fs::create_dir(place.path().join("src")).unwrap();
        fs::write(&source, "one").unwrap();
        assert_eq!(change(&|| {}), None);
        assert_eq!(change(&|| fs::write(&source, "other").unwrap()), Label::new("src/a.py"));
        assert_eq!(change(&|| fs::write(place.path().join("b.rs"), "").unwrap()), Label::new("b.rs"));
        assert_eq!(change(&|| fs::remove_file(&source).unwrap()), Label::new("src/a.py"));
    }

    #[test]
    fn dirty_1_what_is_no_source_does_not_count() {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("main.go"), "x").unwrap();
        let before = FileMarks::of(place.path()).unwrap();
        for folder in ["__pycache__", "node_modules", ".geometry", "target"] {
            fs::create_dir(place.path().join(folder)).unwrap();
            fs::write(place.path().join(folder).join("made.py"), "").unwrap();
        }
        fs::write(place.path().join("run.log"), "").unwrap();
        fs::write(place.path().join("counter"), "1").unwrap();
        std::os::unix::fs::symlink("/", place.path().join("everything")).unwrap();
        assert_eq!(changed(&before), None);
    }
}
