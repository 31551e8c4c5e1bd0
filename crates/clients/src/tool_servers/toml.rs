//! Servers in TOML: tables of `mcp_servers`, in each of the ways in which TOML writes a table.

use super::entry::{ArgsSite, ListSite, NewArgs, ProgramSite, ServerKind, ServerSwitch, ToolServer};
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
        None => (ServerKind::Unreadable("it is not a table"), None),
    };
    let off = entry.get("enabled").and_then(Item::as_bool) == Some(false);
    let switch = if off { ServerSwitch::Off } else { ServerSwitch::On };
    ToolServer { name: name.to_owned(), within: None, kind, switch, site }
}

fn kind(text: &str, entry: &Item, table: &dyn TableLike) -> (ServerKind, Option<ProgramSite>) {
    let unreadable = |why| (ServerKind::Unreadable(why), None);
    if let Some(address) = table.get("url").and_then(Item::as_str) {
        return (ServerKind::Url(address.to_owned()), None);
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
    (ServerKind::Program(words), Some(ProgramSite::Pair { command: place, args: ArgsSite { list, new } }))
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
