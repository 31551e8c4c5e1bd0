//! Servers in JSON, with comments or without.

use super::entry::{ArgsSite, ListSite, NewArgs, ProgramSite, ServerKind, ServerSwitch, ToolServer};
use super::server_form::ServerForm;
use crate::install::settings::{SettingsError, split_mark};
use jsonc_parser::ast::{Array, Object, ObjectProp, StringLit, Value};
use jsonc_parser::common::Ranged as _;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use std::ops::Range;

/// The servers of a text.
pub(super) fn servers(text: &str, form: ServerForm) -> Result<Vec<ToolServer>, SettingsError> {
    let (mark, body) = split_mark(text);
    let parsed = parse_to_ast(body, &CollectOptions::default(), &ParseOptions::default())
        .map_err(|error| SettingsError::Syntax { line: error.line_display(), problem: error.kind().to_string() })?;
    let reader = ServersReader { body, before: mark.len() };
    let Some(root) = parsed.value else { return Ok(Vec::new()) };
    let shape = |member: &str| SettingsError::Shape { member: member.to_owned(), wanted: "an object" };
    let root = root.as_object().ok_or_else(|| shape("the whole file"))?;
    let mut found = Vec::new();
    if let Some(list) = last(root, form.member()) {
        let list = list.value.as_object().ok_or_else(|| shape(form.member()))?;
        reader.list(list, form, None, &mut found);
    }
    let ServerForm::McpServers { also_in: Some(also) } = form else { return Ok(found) };
    let more = last(root, also).and_then(|member| member.value.as_object());
    for project in more.map(|more| more.properties.as_slice()).unwrap_or_default() {
        let list = project.value.as_object().and_then(|project| last(project, form.member()));
        if let Some(list) = list.and_then(|list| list.value.as_object()) {
            reader.list(list, form, Some(project.name.as_str()), &mut found);
        }
    }
    Ok(found)
}

/// A member of an object; of several with one name the last counts, as it does for the clients.
fn last<'a, 'b>(object: &'b Object<'a>, name: &str) -> Option<&'b ObjectProp<'a>> {
    object.properties.iter().rev().find(|member| member.name.as_str() == name)
}

/// Reads members with their places in the whole text.
struct ServersReader<'a> {
    body: &'a str,
    /// Bytes before the body.
    before: usize,
}

impl ServersReader<'_> {
    fn list(&self, list: &Object<'_>, form: ServerForm, within: Option<&str>, found: &mut Vec<ToolServer>) {
        for (place, member) in list.properties.iter().enumerate() {
            let name = member.name.as_str();
            // Of two entries with one name the client reads the last.
            if list.properties.iter().skip(place + 1).any(|later| later.name.as_str() == name) {
                continue;
            }
            let entry = member.value.as_object();
            if let (ServerForm::CommandLists, "servers", Some(inner)) = (form, name, entry)
                && ["type", "command", "url", "enabled"].iter().all(|known| last(inner, known).is_none())
            {
                self.list(inner, form, within, found);
                continue;
            }
            let (kind, site, switch) = match entry {
                Some(entry) => {
                    let (kind, site) = self.kind(entry, form);
                    (kind, site, switch(entry))
                }
                None => (ServerKind::Unreadable("it is not an object"), None, ServerSwitch::On),
            };
            found.push(ToolServer { name: name.to_owned(), within: within.map(str::to_owned), kind, switch, site });
        }
    }

    fn kind(&self, entry: &Object<'_>, form: ServerForm) -> (ServerKind, Option<ProgramSite>) {
        let address = ["httpUrl", "url"].iter().find_map(|name| last(entry, name)?.value.as_string_lit().cloned());
        if let Some(address) = address {
            return (ServerKind::Url(address.value.into_owned()), None);
        }
        let Some(command) = last(entry, "command") else {
            return (ServerKind::Unreadable("it has neither a command nor an address"), None);
        };
        if form == ServerForm::CommandLists {
            let Some(list) = command.value.as_array().and_then(texts) else {
                return (ServerKind::Unreadable("`command` is not a list of texts"), None);
            };
            if list.is_empty() {
                return (ServerKind::Unreadable("`command` is empty"), None);
            }
            let site = command.value.as_array().map(|array| ProgramSite::List(self.site(array)));
            return (ServerKind::Program(values(&list)), site);
        }
        let Some(program) = command.value.as_string_lit() else {
            return (ServerKind::Unreadable("`command` is not a text"), None);
        };
        let mut words = vec![program.value.clone().into_owned()];
        let list = match last(entry, "args") {
            None => None,
            Some(args) => match args.value.as_array().map(|array| (array, texts(array))) {
                Some((array, Some(texts))) => {
                    words.extend(values(&texts));
                    Some(self.site(array))
                }
                Some((_, None)) | None => return (ServerKind::Unreadable("`args` is not a list of texts"), None),
            },
        };
        let new = self.new_args(command, program);
        let site = ProgramSite::Pair { command: self.place(program.range()), args: ArgsSite { list, new } };
        (ServerKind::Program(words), Some(site))
    }

    fn site(&self, array: &Array<'_>) -> ListSite {
        let items = array.elements.iter().map(|item| self.place(item.range())).collect();
        ListSite { range: self.place(array.range), items }
    }

    /// Where a list of arguments would be put: behind the command, on a line of its own if the command has one.
    fn new_args(&self, command: &ObjectProp<'_>, program: &StringLit<'_>) -> NewArgs {
        let before = self.body.get(..command.range.start).unwrap_or_default();
        let (line, indent) = before.rsplit_once('\n').map_or(("", None), |(line, indent)| (line, Some(indent)));
        let end = if line.ends_with('\r') { "\r\n" } else { "\n" };
        let gap = match indent.filter(|indent| indent.trim().is_empty()) {
            Some(indent) => format!("{end}{indent}"),
            None => " ".to_owned(),
        };
        let at = self.place(program.range()).end;
        NewArgs { at, before: format!(",{gap}\"args\": [ "), after: " ]" }
    }

    fn place(&self, range: jsonc_parser::common::Range) -> Range<usize> {
        range.start + self.before..range.end + self.before
    }
}

fn texts<'a, 'b>(array: &'b Array<'a>) -> Option<Vec<&'b StringLit<'a>>> {
    array.elements.iter().map(Value::as_string_lit).collect()
}

fn values(texts: &[&StringLit<'_>]) -> Vec<String> {
    texts.iter().map(|text| text.value.clone().into_owned()).collect()
}

fn switch(entry: &Object<'_>) -> ServerSwitch {
    let says = |name: &str, value: bool| {
        last(entry, name).and_then(|member| member.value.as_boolean_lit()).is_some_and(|found| found.value == value)
    };
    if says("enabled", false) || says("disabled", true) { ServerSwitch::Off } else { ServerSwitch::On }
}
