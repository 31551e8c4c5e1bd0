//! What `tripwire init` says: the changes as they are planned, and what was written.

use super::args::InitArgs;
use super::purge::Purge;
use crate::error::Problem;
use crate::exit::Exit;
use crate::print::{self, Form, Out};
use serde_json::{Value, json};
use std::io::IsTerminal as _;
use std::path::Path;
use tripwire_clients::Client;
use tripwire_clients::install::Change;
use tripwire_core::visible::visible_lines;

/// What the verb says.
pub(super) struct InitReport {
    pub(super) form: Form,
    pub(super) lines: Vec<String>,
    pub(super) changes: Vec<Value>,
    pub(super) purged: Vec<Value>,
    pub(super) servers: Vec<Value>,
}

impl InitReport {
    pub(super) const fn new(form: Form) -> Self {
        Self { form, lines: Vec::new(), changes: Vec::new(), purged: Vec::new(), servers: Vec::new() }
    }

    pub(super) fn line(&mut self, line: &str) {
        self.lines.push(line.to_owned());
    }

    /// A change of hooks as it is planned.
    pub(super) fn tell(&mut self, client: Client, change: &Change, args: &InitArgs) {
        self.tell_change(client, change, args);
        let hooks_file = client.adapter().settings.file;
        if let Some(trust) = client.adapter().trust
            && !change.path.ends_with(hooks_file)
            && !args.remove
            && !change.is_nothing()
        {
            trust.explanation().iter().for_each(|line| self.line(line));
        }
        if let Some(switch) = change.switched_off(client.adapter().settings) {
            self.line(&format!("warning     `{switch}` in `{}` switches all hooks off", change.path.display()));
        }
    }

    /// A change as it is planned.
    pub(super) fn tell_change(&mut self, client: Client, change: &Change, args: &InitArgs) {
        self.changes.push(json!({
            "client": client.name(), "file": change.path.to_string_lossy(), "changes": !change.is_nothing(), "diff": change.diff(),
            "written": args.yes && !args.print && !change.is_nothing(),
        }));
        if change.is_nothing() {
            self.line(&format!("{:<11} `{}` stays as it is", client.name(), change.path.display()));
        } else {
            self.lines.extend(change.diff().lines().map(str::to_owned));
        }
    }

    /// Hides texts that may be keys in what was said so far.
    pub(super) fn hide<'a>(&mut self, hidden: impl Iterator<Item = &'a String>) {
        for text in hidden {
            for line in &mut self.lines {
                *line = line.replace(text.as_str(), "…");
            }
            for change in &mut self.changes {
                if let Some(diff) =
                    change.get("diff").and_then(Value::as_str).map(|diff| diff.replace(text.as_str(), "…"))
                {
                    change["diff"] = json!(diff);
                }
            }
        }
    }

    /// The folders that are to be deleted.
    pub(super) fn purges(&mut self, purge: &Purge, args: &InitArgs) {
        let deleted = args.yes && !args.print;
        let folder = |path: &Path| json!({ "folder": path.to_string_lossy(), "deleted": deleted });
        self.purged = purge.paths().into_iter().map(folder).collect();
    }

    pub(super) fn wrote(&mut self, client: Client, change: &Change) {
        let verb = if change.after.is_some() { "wrote" } else { "removed" };
        self.line(&format!("{verb:<11} {} `{}`", client.name(), change.path.display()));
        if let Some(backup) = change.backup().filter(|backup| backup.exists()) {
            self.line(&format!("            as it was: `{}`", backup.display()));
        }
        for left in change.left() {
            self.line(&format!("            `{}` stays: it is not what came back", left.display()));
        }
    }

    pub(super) fn print(&self, exit: Exit) -> Result<Exit, Problem> {
        let mut out = Out::lock();
        if self.form.json {
            let shown =
                json!({ "changes": self.changes, "purge": self.purged, "servers": self.servers, "said": self.lines });
            out.line(&shown.to_string())?;
        } else {
            for line in &self.lines {
                out.line(&visible_lines(line))?;
            }
        }
        out.flush()?;
        Ok(exit)
    }
}

/// Shows the change and asks. Only a person on a terminal can be asked: everyone else has to say `--yes` beforehand.
pub(super) fn is_agreed(said: &InitReport) -> Result<bool, Problem> {
    said.print(Exit::Held)?;
    if said.form.json || !std::io::stdin().is_terminal() || !print::is_terminal() {
        print::say("nothing was changed: there is no terminal to ask on; add `--yes` to apply it");
        return Ok(false);
    }
    let agreed = print::agrees("write this? [y/N] ");
    if !agreed {
        print::say("nothing was changed");
    }
    Ok(agreed)
}
