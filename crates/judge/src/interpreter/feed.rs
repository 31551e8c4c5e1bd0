//! `xargs` and `parallel`: calls whose arguments are the words of an input.

use crate::line::call::Call;
use crate::line::field::{Field, Origin};
use crate::line::stream::Stream;
use crate::site::Site;

/// Most items that are tried one by one.
const ITEMS_MAX: usize = 64;

/// What such a program runs.
pub(super) enum Fed {
    /// Nothing: its input is empty.
    Nothing,
    Calls(Vec<Call>),
    /// Texts for a shell, one for each item.
    Codes(Vec<String>),
}

/// What a program runs that is given these arguments and the words of its input.
pub(super) fn fed(site: &Site<'_>, args: Vec<Field>, call: &Call) -> Fed {
    let behind_sign = || {
        let at = call.args.iter().position(|field| field.text().starts_with("::::"))?;
        call.args.get(at + 1).cloned()
    };
    let file = call.option(&["-a", "--arg-file"]).or_else(behind_sign);
    let named = file.map(|file| match file.known().and_then(|name| site.state.absolute(&name)) {
        Some(path) => site.contents(&path),
        None => Stream::Unknown,
    });
    let input = named.as_ref().unwrap_or(&call.stdin);
    let items = items_of(input, &Separator::of(&own_options(&args, call)));
    if items.is_empty() {
        return without_items(args, call);
    }
    let holder = holder_of(&own_options(&args, call));
    if let [code] = args.as_slice()
        && call.name() == "parallel"
        && code.text().contains(char::is_whitespace)
    {
        let text = |item: &Field| {
            let item = Field::of(&Field::quoted(std::slice::from_ref(item)));
            code.filled("{}", &item).to_code()
        };
        return Fed::Codes(items.iter().take(ITEMS_MAX).map(text).collect());
    }
    let placed = args.iter().any(|field| field.text().contains(&holder));
    let calls: Vec<Vec<Field>> = if placed {
        let filled = |item: &Field| args.iter().map(|field| field.filled(&holder, item)).collect();
        items.iter().take(ITEMS_MAX).map(filled).collect()
    } else {
        shares(&args, call, &items).iter().map(|items| [args.as_slice(), items].concat()).collect()
    };
    // What a listing names was named by no person: its `rm` is judged like a search's `-delete`.
    let listed = matches!(input, Stream::Paths(_));
    let inner = |mut args: Vec<Field>| {
        if listed && args.first().is_some_and(|program| program.text() == "rm") {
            args.insert(1, Field::of("-r"));
        }
        Call { stdin: Stream::Closed, ..call.with_args(args) }
    };
    Fed::Calls(calls.into_iter().map(inner).collect())
}

/// What stands for an item. Behind `-i` and `--replace` it is joined to the option, because the next word is the program.
fn holder_of(own: &Call) -> String {
    let joined =
        |word: String| ["--replace=", "-i"].iter().find_map(|start| word.strip_prefix(start).map(str::to_owned));
    let named = own.option(&["-I"]).map(|field| field.text()).or_else(|| own.words().into_iter().find_map(joined));
    named.filter(|text| !text.is_empty()).unwrap_or_else(|| "{}".to_owned())
}

/// The items of each call: all of them, or so many as `-n` says. Behind the first calls the rest is tried as one.
fn shares<'i>(args: &[Field], call: &Call, items: &'i [Field]) -> Vec<&'i [Field]> {
    let most = own_options(args, call).option(&["-n", "--max-args", "-L"]).and_then(|most| most.known()?.parse().ok());
    let Some(most) = most.filter(|most: &usize| *most > 0 && call.name() == "xargs") else { return vec![items] };
    let (first, rest) = items.split_at(items.len().min(most.saturating_mul(ITEMS_MAX)));
    first.chunks(most).chain((!rest.is_empty()).then_some(rest)).collect()
}

/// What stands before the program that is run.
fn own_options(args: &[Field], call: &Call) -> Call {
    let own = call.args.len().saturating_sub(args.len());
    call.with_args(call.args.get(..own).unwrap_or_default().to_vec())
}

/// `xargs` runs its command once without any input, unless an option of its own forbids it.
fn without_items(args: Vec<Field>, call: &Call) -> Fed {
    let own = own_options(&args, call);
    let waits = own.has_short(&['r']) || own.has_any(&["--no-run-if-empty"]);
    if call.name() != "xargs" || args.is_empty() || waits {
        return Fed::Nothing;
    }
    Fed::Calls(vec![Call { stdin: Stream::Closed, ..call.with_args(args) }])
}

/// What stands between the items of an input.
#[derive(Debug, PartialEq, Eq)]
enum Separator {
    /// Blanks and line ends.
    Blanks,
    /// This letter alone.
    Letter(char),
}

impl Separator {
    /// As the options of the program say it: `-0`, `-d`, and whole lines where an item is put into a place.
    fn of(own: &Call) -> Self {
        let places = own.has_any(&["--replace"])
            || own.words().iter().any(|word| word.starts_with("-I") || word.starts_with("-i"));
        let letter = own.option(&["-d", "--delimiter"]).map(|letter| match letter.text().as_str() {
            "\\n" => '\n',
            "\\t" => '\t',
            "\\0" => '\0',
            text => text.chars().next().unwrap_or('\n'),
        });
        match letter {
            _ if own.has_any(&["-0", "--null"]) || own.has_short(&['0']) => Self::Letter('\0'),
            Some(letter) => Self::Letter(letter),
            None if places || own.name() == "parallel" => Self::Letter('\n'),
            None => Self::Blanks,
        }
    }

    fn parts<'t>(&self, text: &'t str) -> Vec<&'t str> {
        let parts: Vec<&str> = match self {
            Self::Blanks => text.split(|letter: char| letter.is_whitespace() || letter == '\0').collect(),
            // With another separator the line end at the end of the input belongs to no name.
            Self::Letter(letter) => text.split([*letter, '\0']).map(|part| part.trim_matches('\n')).collect(),
        };
        parts.into_iter().map(str::trim_start).filter(|part| !part.is_empty()).collect()
    }
}

/// The items of an input.
fn items_of(input: &Stream, separator: &Separator) -> Vec<Field> {
    match input {
        Stream::Known(text) => separator
            .parts(text)
            .into_iter()
            // `echo *.md | xargs rm`: the shell wrote names where the text has a pattern.
            .map(|part| if part.contains('*') { Field::of_pattern(part) } else { Field::of(part) })
            .collect(),
        Stream::Paths(paths) => paths.0.iter().map(|path| Field::of_pattern(path)).collect(),
        Stream::Closed => Vec::new(),
        Stream::Name(name) => vec![Field::from_stand_in(*name)],
        Stream::Downloaded => vec![Field::from_unknown(Origin::Downloaded)],
        Stream::Decoded | Stream::Changes(_) | Stream::Unknown => vec![Field::from_unknown(Origin::Output)],
    }
}
