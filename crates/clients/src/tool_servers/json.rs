//! Servers in JSON, with comments or without.

use super::address::{self, ADDRESSES, ENTRY_VARIABLE};
use super::entry::{
    AddressSite, ArgsSite, EntryForm, ListSite, NewArgs, ProgramSite, ServerKind, ServerSite, ServerSwitch, ToolServer,
};
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
                None => (unreadable("it is not an object").0, STAYS, ServerSwitch::On),
            };
            found.push(ToolServer { name: name.to_owned(), within: within.map(str::to_owned), kind, switch, site });
        }
    }

    fn kind(&self, entry: &Object<'_>, form: ServerForm) -> (ServerKind, ServerSite) {
        let address = ADDRESSES.iter().find_map(|name| last(entry, name)?.value.as_string_lit().cloned());
        if let Some(address) = address {
            return (ServerKind::Url(address.value.into_owned()), self.address(entry, form));
        }
        let Some(command) = last(entry, "command") else {
            return unreadable("it has neither a command nor an address");
        };
        if form == ServerForm::CommandLists {
            let Some((array, list)) = command.value.as_array().and_then(|array| Some((array, texts(array)?))) else {
                return unreadable("`command` is not a list of texts");
            };
            if list.is_empty() {
                return unreadable("`command` is empty");
            }
            let site = self.carried(entry, "environment", ProgramSite::List(self.site(array)));
            return (ServerKind::Program(values(&list)), site);
        }
        let Some(program) = command.value.as_string_lit() else {
            return unreadable("`command` is not a text");
        };
        let mut words = vec![program.value.clone().into_owned()];
        let list = match last(entry, "args") {
            None => None,
            Some(args) => match args.value.as_array().map(|array| (array, texts(array))) {
                Some((array, Some(texts))) => {
                    words.extend(values(&texts));
                    Some(self.site(array))
                }
                Some((_, None)) | None => return unreadable("`args` is not a list of texts"),
            },
        };
        let new = self.new_args(command, program);
        let site = ProgramSite::Pair { command: self.place(program.range()), args: ArgsSite { list, new } };
        (ServerKind::Program(words), self.carried(entry, "env", site))
    }

    /// The site of a program, which may be our guard in the place of an entry with an address.
    fn carried(&self, entry: &Object<'_>, variables: &str, program: ProgramSite) -> ServerSite {
        let variables = last(entry, variables).and_then(|variables| variables.value.as_object());
        let original = variables.and_then(|variables| last(variables, ENTRY_VARIABLE)?.value.as_string_lit());
        match original {
            Some(original) => ServerSite::Carried {
                program,
                range: self.place(entry.range),
                original: original.value.clone().into_owned(),
            },
            None => ServerSite::Program(program),
        }
    }

    /// Where an entry with an address stands.
    fn address(&self, entry: &Object<'_>, form: ServerForm) -> ServerSite {
        let kind = last(entry, "type").and_then(|kind| kind.value.as_string_lit()).map(|kind| kind.value.as_ref());
        let names = entry.properties.iter().map(|member| member.name.as_str());
        if let Some(why) = address::obstacle(names, kind) {
            return ServerSite::Stays(why);
        }
        let headers = last(entry, "headers").map(|headers| headers.value.as_object());
        let are_texts = |headers: &Object<'_>| headers.properties.iter().all(|one| one.value.as_string_lit().is_some());
        if headers.is_some_and(|headers| !headers.is_some_and(are_texts)) {
            return ServerSite::Stays("its `headers` are not texts");
        }
        let kept = entry.properties.iter().filter(|member| !address::is_transport(member.name.as_str()));
        ServerSite::Address(AddressSite {
            range: self.place(entry.range),
            kept: kept.map(|member| self.place(member.range)).collect(),
            form: if form == ServerForm::CommandLists { EntryForm::List } else { EntryForm::Pair },
            variables: Vec::new(),
        })
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

/// A server that cannot be read.
const STAYS: ServerSite = ServerSite::Stays("it cannot be read");

fn unreadable(why: &'static str) -> (ServerKind, ServerSite) {
    (ServerKind::Unreadable(why), STAYS)
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
