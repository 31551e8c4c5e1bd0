//! Servers in TOML: tables of `mcp_servers`, in each of the ways in which TOML writes a table.

use super::address::{self, ADDRESSES, ENTRY_VARIABLE};
use super::entry::{
    AddressSite, ArgsSite, EntryForm, ListSite, NewArgs, ProgramSite, ServerKind, ServerSite, ServerSwitch, ToolServer,
};
use super::server_form::ServerForm;
use std::ops::Range;
use toml_edit::{Array, Document, Item, TableLike, Value};

/// The servers of a text.
pub(super) fn servers(text: &str) -> Result<Vec<ToolServer>, String> {
    let document = Document::parse(text).map_err(|error| error.to_string().replace('\n', " "))?;
    let member = ServerForm::TomlTables.member();
    let Some(list) = document.as_table().get(member) else { return Ok(Vec::new()) };
    let list = list.as_table_like().ok_or_else(|| format!("`{member}` is not a table"))?;
    Ok(list.iter().map(|(name, entry)| server(text, name, entry)).collect())
}

fn server(text: &str, name: &str, entry: &Item) -> ToolServer {
    let (kind, site) = match entry.as_table_like() {
        Some(table) => kind(text, entry, table),
        None => unreadable("it is not a table"),
    };
    let off = entry.get("enabled").and_then(Item::as_bool) == Some(false);
    let switch = if off { ServerSwitch::Off } else { ServerSwitch::On };
    ToolServer { name: name.to_owned(), within: None, kind, switch, site }
}

fn unreadable(why: &'static str) -> (ServerKind, ServerSite) {
    (ServerKind::Unreadable(why), ServerSite::Stays("it cannot be read"))
}

fn kind(text: &str, entry: &Item, table: &dyn TableLike) -> (ServerKind, ServerSite) {
    if let Some(address) = ADDRESSES.iter().find_map(|name| table.get(name)?.as_str()) {
        return (ServerKind::Url(address.to_owned()), address_site(text, entry, table));
    }
    let Some(command) = table.get("command") else { return unreadable("it has neither a command nor an address") };
    let (Some(program), Some(place)) = (command.as_str(), command.span()) else {
        return unreadable("`command` is not a text");
    };
    let mut words = vec![program.to_owned()];
    let list = match table.get("args") {
        None => None,
        Some(args) => match args.as_array().and_then(texts) {
            Some((site, texts)) => {
                words.extend(texts);
                Some(site)
            }
            None => return unreadable("`args` is not a list of texts"),
        },
    };
    let Some(new) = new_args(text, entry, table, &place) else {
        return unreadable("it is written inside of another line, with dots");
    };
    let program = ProgramSite::Pair { command: place, args: ArgsSite { list, new } };
    let original = table.get("env").and_then(|env| env.get(ENTRY_VARIABLE)).and_then(Item::as_str);
    let site = match original.and_then(|original| Some((original, whole(entry, table)?))) {
        Some((original, range)) => ServerSite::Carried { program, range, original: original.to_owned() },
        None => ServerSite::Program(program),
    };
    (ServerKind::Program(words), site)
}

/// Where an entry with an address stands.
fn address_site(text: &str, entry: &Item, table: &dyn TableLike) -> ServerSite {
    let kind = table.get("type").and_then(Item::as_str);
    if let Some(why) = address::obstacle(table.iter().map(|(name, _)| name), kind) {
        return ServerSite::Stays(why);
    }
    let Some(range) = whole(entry, table) else {
        return ServerSite::Stays("it is written in several tables, or with dots");
    };
    let members: Option<Vec<(&str, Range<usize>)>> =
        table.iter().map(|(name, item)| Some((name, member(table, name, item)?))).collect();
    let original = text.get(range.clone()).unwrap_or_default();
    let (Some(members), Some(read)) = (members, address::members(original)) else {
        return ServerSite::Stays("it is written in several tables, or with dots");
    };
    let form = if entry.is_inline_table() {
        EntryForm::InlineTable
    } else {
        let before = text.get(..range.start).unwrap_or_default();
        let (line, indent) = before.rsplit_once('\n').unwrap_or(("", before));
        EntryForm::Lines(format!("{}{indent}", if line.ends_with('\r') { "\r\n" } else { "\n" }))
    };
    let kept = members.into_iter().filter(|(name, _)| !address::is_transport(name)).map(|(_, range)| range).collect();
    ServerSite::Address(AddressSite { range, kept, form, variables: address::variables(&read) })
}

/// The whole of an entry: an inline table with its braces, or a table's lines from its first member to its last. Nothing where
/// parts of it stand elsewhere.
fn whole(entry: &Item, table: &dyn TableLike) -> Option<Range<usize>> {
    if table.is_dotted() {
        return None;
    }
    if entry.is_inline_table() {
        return entry.span();
    }
    let members: Option<Vec<Range<usize>>> = table.iter().map(|(name, item)| member(table, name, item)).collect();
    let members = members?;
    Some(members.iter().map(|range| range.start).min()?..members.iter().map(|range| range.end).max()?)
}

/// A member with its name; nothing where it is a table of its own, or written with dots.
fn member(table: &dyn TableLike, name: &str, item: &Item) -> Option<Range<usize>> {
    let is_dotted = item.as_table_like().is_some_and(TableLike::is_dotted);
    if !item.is_value() || is_dotted {
        return None;
    }
    Some(table.key(name)?.span()?.start..item.span()?.end)
}

fn texts(array: &Array) -> Option<(ListSite, Vec<String>)> {
    let items: Option<Vec<Range<usize>>> = array.iter().map(Value::span).collect();
    let texts: Option<Vec<String>> = array.iter().map(|item| item.as_str().map(str::to_owned)).collect();
    Some((ListSite { range: array.span()?, items: items? }, texts?))
}

/// Where a list of arguments would be put: on the line below the command, under the same dotted key; inside of an inline table
/// behind the command.
fn new_args(text: &str, entry: &Item, table: &dyn TableLike, command: &Range<usize>) -> Option<NewArgs> {
    const AFTER: &str = " ]";
    if entry.is_inline_table() {
        return (!table.is_dotted()).then(|| NewArgs {
            at: command.end,
            before: ", args = [ ".to_owned(),
            after: AFTER,
        });
    }
    let key = table.key("command")?.span()?;
    let line = text.get(..key.start)?.rfind('\n').map_or(0, |end| end + 1);
    let prefix = text.get(line..key.start)?;
    let rest = text.get(command.end..)?;
    let end = rest.find('\n').unwrap_or(rest.len());
    let (end, gap) = match rest.get(..end)?.strip_suffix('\r') {
        Some(before) => (before.len(), "\r\n"),
        None => (end, "\n"),
    };
    Some(NewArgs { at: command.end + end, before: format!("{gap}{prefix}args = [ "), after: AFTER })
}
