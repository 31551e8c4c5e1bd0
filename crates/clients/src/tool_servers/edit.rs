//! The guard's words into a text of settings and out of it, byte by byte: nothing else moves.

use super::address::ENTRY_VARIABLE;
use super::entry::{AddressSite, ArgsSite, EntryForm, ListSite, ProgramSite, ServerKind, ServerSite, ToolServer};
use super::guarded::{self, GuardForm};
use std::ops::Range;

/// A part of a text, and what comes in its place.
type Edit = (Range<usize>, String);

/// The text with our guard before each server of these that has none and can have one; a guard of ours that calls another program
/// calls this one.
pub(super) fn with_guard(text: &str, servers: &[ToolServer], program: &str) -> String {
    let mut edits = Vec::new();
    for server in servers {
        let known = known(server);
        match &server.site {
            ServerSite::Address(site) => edits.push((site.range.clone(), carried(text, site, &server.name, program))),
            ServerSite::Program(site) | ServerSite::Carried { program: site, .. } => match known {
                None => edits.extend(guard(text, site, &server.name, program)),
                Some(GuardForm::AsInstalled) => edits.push((program_of(site), quoted(program))),
                Some(GuardForm::ByHand) => {}
            },
            ServerSite::Stays(_) => {}
        }
    }
    applied(text, edits)
}

/// The text without our guard, where it stands as we write it.
pub(super) fn without_guard(text: &str, servers: &[ToolServer]) -> String {
    let mut edits = Vec::new();
    for server in servers.iter().filter(|server| known(server) == Some(GuardForm::AsInstalled)) {
        match &server.site {
            ServerSite::Carried { range, original, .. } => edits.push((range.clone(), original.clone())),
            ServerSite::Program(site) => edits.extend(unguard(text, site)),
            ServerSite::Address(_) | ServerSite::Stays(_) => {}
        }
    }
    applied(text, edits)
}

/// Whose guard stands before a server; none where there is none.
fn known(server: &ToolServer) -> Option<GuardForm> {
    match &server.kind {
        ServerKind::Program(words) => guarded::guarded(words, &server.name).map(|known| known.form),
        ServerKind::Url(_) | ServerKind::Unreadable(_) => None,
    }
}

/// An entry of ours in the place of one with an address, which it holds in a variable in the very letters in which it stood there.
fn carried(text: &str, site: &AddressSite, name: &str, program: &str) -> String {
    let original = quoted(text.get(site.range.clone()).unwrap_or_default());
    let words = guarded::entry_words(name).map(|word| quoted(&word)).join(", ");
    let program = quoted(program);
    let kept = site.kept.iter().map(|range| text.get(range.clone()).unwrap_or_default().to_owned());
    let mut members = match &site.form {
        EntryForm::Pair => vec![
            format!("\"command\": {program}"),
            format!("\"args\": [{words}]"),
            format!("\"env\": {{ {}: {original} }}", quoted(ENTRY_VARIABLE)),
        ],
        EntryForm::List => vec![
            "\"type\": \"local\"".to_owned(),
            format!("\"command\": [{program}, {words}]"),
            format!("\"environment\": {{ {}: {original} }}", quoted(ENTRY_VARIABLE)),
        ],
        EntryForm::InlineTable | EntryForm::Lines(_) => vec![
            format!("command = {program}"),
            format!("args = [{words}]"),
            format!("env = {{ {ENTRY_VARIABLE} = {original} }}"),
        ],
    };
    if !site.variables.is_empty() {
        let names: Vec<String> = site.variables.iter().map(|name| quoted(name)).collect();
        members.push(format!("env_vars = [{}]", names.join(", ")));
    }
    members.extend(kept);
    match &site.form {
        EntryForm::Pair | EntryForm::List | EntryForm::InlineTable => format!("{{ {} }}", members.join(", ")),
        EntryForm::Lines(between) => members.join(between),
    }
}

/// Words of ours before the server's own, with the program.
const OWN_WORDS: usize = 5;

fn guard(text: &str, site: &ProgramSite, name: &str, program: &str) -> Vec<Edit> {
    let words = guarded::words(name).map(|word| quoted(&word)).join(", ");
    match site {
        ProgramSite::List(list) => {
            let at = first(list);
            vec![(at..at, format!("{}, {words}, ", quoted(program)))]
        }
        ProgramSite::Pair { command, args: ArgsSite { list, new } } => {
            // The command moves in the letters in which it stands there.
            let words = format!("{words}, {}", text.get(command.clone()).unwrap_or_default());
            let args = match list {
                Some(list) if list.items.is_empty() => (list.range.start + 1..list.range.start + 1, words),
                Some(list) => (first(list)..first(list), format!("{words}, ")),
                None => (new.at..new.at, format!("{}{words}{}", new.before, new.after)),
            };
            vec![(command.clone(), quoted(program)), args]
        }
    }
}

fn unguard(text: &str, site: &ProgramSite) -> Vec<Edit> {
    match site {
        ProgramSite::List(list) => {
            let own = list.items.get(OWN_WORDS).map(|item| item.start);
            own.map(|own| (first(list)..own, String::new())).into_iter().collect()
        }
        ProgramSite::Pair { command, args: ArgsSite { list: Some(list), new } } => {
            // Here the program stands elsewhere, and behind our words stands the server's.
            let Some(program) = list.items.get(OWN_WORDS - 1) else { return Vec::new() };
            let back = (command.clone(), text.get(program.clone()).unwrap_or_default().to_owned());
            let gone = match list.items.get(OWN_WORDS) {
                Some(own) => first(list)..own.start,
                None => {
                    let words = text.get(first(list)..program.end).unwrap_or_default();
                    let made = format!("{}{words}{}", new.before, new.after);
                    if text.get(new.at..list.range.end) == Some(made.as_str()) {
                        new.at..list.range.end
                    } else {
                        emptied(text, list, program.end)
                    }
                }
            };
            vec![back, (gone, String::new())]
        }
        ProgramSite::Pair { args: ArgsSite { list: None, .. }, .. } => Vec::new(),
    }
}

/// What goes of a list that only holds our words. Lines in it are a client's, which rewrote the file.
fn emptied(text: &str, list: &ListSite, end: usize) -> Range<usize> {
    let inside = list.range.start + 1..list.range.end.saturating_sub(1);
    let is_on_lines = text.get(inside.start..first(list)).is_some_and(|gap| gap.contains('\n'));
    let rest = text.get(end..inside.end).unwrap_or_default();
    match rest.trim_start().strip_prefix(',') {
        _ if is_on_lines => inside,
        Some(after) => first(list)..inside.end - after.len(),
        None => first(list)..end,
    }
}

fn first(list: &ListSite) -> usize {
    list.items.first().map_or(list.range.start + 1, |item| item.start)
}

/// Where the program stands.
fn program_of(site: &ProgramSite) -> Range<usize> {
    match site {
        ProgramSite::List(list) => list.items.first().cloned().unwrap_or(list.range.clone()),
        ProgramSite::Pair { command, .. } => command.clone(),
    }
}

/// A text as JSON and TOML both read it back.
pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

fn applied(text: &str, mut edits: Vec<Edit>) -> String {
    edits.sort_by_key(|(range, _)| range.start);
    let mut made = String::with_capacity(text.len());
    let mut at = 0;
    for (range, new) in edits {
        made.push_str(text.get(at..range.start).unwrap_or_default());
        made.push_str(&new);
        at = range.end;
    }
    made.push_str(text.get(at..).unwrap_or_default());
    made
}
