//! What an expression of another language stands for, as far as it is plainly written: texts, lists of texts, joined
//! paths, the working folder, the home, a temporary folder that the code made, and variables that are set to these.
//!
//! Whatever is finer is unknown, and a deletion of something unknown is held.

use super::binding::{self, Span};
use super::literal::{Language, Skeleton};
use crate::line::call::{Call, Place};
use crate::line::field::{Atom, Field, Origin};
use crate::line::stream::Stream;
use crate::search::Search;
use crate::site::Site;

/// Deepest nesting of expressions and variables inside each other.
const DEPTH_MAX: usize = 10;
/// Most values that one expression may have.
const VALUES_MAX: usize = 64;
/// Most letters between `for` and `in`.
const HEAD_MAX: usize = 80;
/// Most variables that are looked up for one value: names may lead to each other in any number of ways.
const LOOKUPS_MAX: usize = 256;

/// The values that the first argument of a call may have; `from` is where its name ends.
pub(super) fn first_argument(site: &Site<'_>, skeleton: &Skeleton, language: Language, from: usize) -> Vec<Field> {
    let mut reader = ValueReader::new(site, skeleton, language, from);
    reader.blanks();
    if reader.peek() == Some('(') {
        reader.at += 1;
    }
    let values = reader.sum();
    if reader.ends(",);}\n") { values } else { vec![Field::from_unknown(Origin::Output)] }
}

/// The values that a part of the code may have.
pub(super) fn of_span(site: &Site<'_>, skeleton: &Skeleton, language: Language, part: Span) -> Vec<Field> {
    ValueReader::new(site, skeleton, language, part.start).in_span(part)
}

struct ValueReader<'r> {
    site: &'r Site<'r>,
    skeleton: &'r Skeleton,
    language: Language,
    at: usize,
    depth: usize,
    lookups: usize,
    /// A dot here belongs to no expression that is read.
    stop: usize,
    /// Where the value is used.
    place: usize,
}

impl<'r> ValueReader<'r> {
    const fn new(site: &'r Site<'r>, skeleton: &'r Skeleton, language: Language, at: usize) -> Self {
        Self { site, skeleton, language, at, depth: 0, lookups: 0, stop: usize::MAX, place: at }
    }

    /// What another part of the code stands for.
    fn in_span(&mut self, part: Span) -> Vec<Field> {
        let outer = (self.stop, self.place);
        (self.at, self.stop, self.place) = (part.start, part.end, part.end);
        let values = self.term();
        (self.stop, self.place) = outer;
        values
    }

    fn peek(&self) -> Option<char> {
        self.skeleton.code.get(self.at).copied()
    }

    fn blanks(&mut self) {
        while self.peek().is_some_and(char::is_whitespace) {
            self.at += 1;
        }
    }

    /// Whether an expression ends here; what else follows may change everything, such as `x if y else z`.
    fn ends(&mut self, marks: &str) -> bool {
        while self.peek().is_some_and(|letter| letter.is_whitespace() && !(marks.contains('\n') && letter == '\n')) {
            self.at += 1;
        }
        self.peek().is_none_or(|letter| marks.contains(letter))
    }

    fn take(&mut self, wanted: char) -> bool {
        self.blanks();
        let found = self.peek() == Some(wanted);
        self.at += usize::from(found);
        found
    }

    /// Terms that are put together with `+`, or with `/` between paths.
    fn sum(&mut self) -> Vec<Field> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return vec![Field::from_unknown(Origin::Output)];
        }
        let mut values = self.term();
        loop {
            let end = self.at;
            self.blanks();
            let between = match self.peek() {
                Some('+') => "",
                Some('/') if self.language == Language::Python => "/",
                _ => {
                    self.at = end; // A new line may end the expression.
                    break;
                }
            };
            self.at += 1;
            let right = self.term();
            values = joined(&values, &right, between);
        }
        self.depth -= 1;
        values
    }

    fn term(&mut self) -> Vec<Field> {
        self.blanks();
        let Some(letter) = self.peek() else { return vec![Field::from_unknown(Origin::Output)] };
        let mut values = match letter {
            // A list of Python stands in either: `for name in ('a', 'b')`.
            '(' | '[' => {
                self.at += 1;
                let values = self.list();
                self.close(if letter == '(' { ')' } else { ']' });
                values
            }
            letter if self.skeleton.literal(letter).is_some() => {
                self.at += 1;
                let text = self.skeleton.literal(letter).map(|literal| literal.text.clone()).unwrap_or_default();
                self.text(&text)
            }
            letter if is_part(letter) => self.named(),
            _ => vec![Field::from_unknown(Origin::Output)],
        };
        while self.peek() == Some('.') && self.at != self.stop {
            self.at += 1;
            let method = self.name();
            let arguments = if self.peek() == Some('(') { self.arguments() } else { Vec::new() };
            values = self.method(&values, &method, &arguments);
        }
        values
    }

    /// Goes behind the bracket that closes what was opened.
    fn close(&mut self, bracket: char) {
        let mut open = 0_usize;
        while let Some(letter) = self.peek() {
            self.at += 1;
            match letter {
                '(' | '[' | '{' => open += 1,
                letter if letter == bracket && open == 0 => return,
                ')' | ']' | '}' => open = open.saturating_sub(1),
                _ => {}
            }
        }
    }

    fn list(&mut self) -> Vec<Field> {
        let mut values = Vec::new();
        loop {
            self.blanks();
            if matches!(self.peek(), Some(']' | ')') | None) || values.len() > VALUES_MAX {
                return values;
            }
            values.extend(self.sum());
            let rest: String = self.skeleton.code.get(self.at..).unwrap_or_default().iter().take(5).collect();
            if !self.ends(",])") && !rest.trim_start().starts_with("for") {
                values.push(Field::from_unknown(Origin::Output));
            }
            if !self.take(',') {
                return values;
            }
        }
    }

    fn arguments(&mut self) -> Vec<Vec<Field>> {
        self.at += 1;
        let mut arguments = Vec::new();
        loop {
            self.blanks();
            if matches!(self.peek(), Some(')') | None) || arguments.len() > VALUES_MAX {
                break;
            }
            let values = self.sum();
            arguments.push(if self.ends(",)=:") { values } else { vec![Field::from_unknown(Origin::Output)] });
            if !self.take(',') {
                break;
            }
        }
        self.close(')');
        arguments
    }

    fn name(&mut self) -> String {
        let rest = self.skeleton.code.get(self.at..).unwrap_or_default();
        let name: String = rest.iter().copied().take_while(|letter| is_part(*letter)).collect();
        self.at += name.chars().count();
        name
    }

    /// A variable, a call, or a word that stands before an expression.
    fn named(&mut self) -> Vec<Field> {
        let mut name = self.name();
        let goes_on = |reader: &Self| reader.skeleton.code.get(reader.at + 1).copied().is_some_and(is_part);
        while self.peek() == Some('.') && self.at != self.stop && goes_on(self) {
            self.at += 1;
            name = format!("{name}.{}", self.name());
        }
        if matches!(name.as_str(), "await" | "new" | "my" | "yield") {
            return self.term();
        }
        let in_perl = self.language == Language::Perl && name == "glob";
        let in_ruby = self.language == Language::Ruby && name == "Dir" && self.peek() == Some('[');
        if in_perl || in_ruby {
            return self.term().iter().map(Field::to_pattern).collect();
        }
        if self.peek() == Some('(') {
            let arguments = self.arguments();
            return self.call(&name, &arguments);
        }
        if self.peek() == Some('[') || (self.peek() == Some('{') && self.at != self.stop) {
            return vec![Field::from_unknown(Origin::Variable(name))];
        }
        self.variable(&name)
    }

    fn call(&mut self, name: &str, arguments: &[Vec<Field>]) -> Vec<Field> {
        let last = name.rsplit('.').next().unwrap_or(name);
        let first = arguments.first().cloned().unwrap_or_else(|| vec![Field::of(".")]);
        match last {
            "join" | "joinpath" | "resolve" if !name.contains("Path(") => {
                let mut parts = arguments.iter();
                let Some(mut path) = parts.next().cloned() else { return vec![Field::from_unknown(Origin::Output)] };
                for part in parts {
                    path = joined(&path, part, "/");
                }
                path
            }
            "getcwd" | "cwd" | "pwd" => self.folder(),
            "Path" | "PurePath" | "str" | "String" | "fspath" | "abspath" | "realpath" | "normpath" | "normalize"
            | "sorted" | "list" | "set" | "tuple" | "reversed" | "Pathname" => first,
            "mkdtemp" | "mkdtempSync" | "mktmpdir" | "tempdir" | "TemporaryDirectory" | "mkstemp" => {
                let folder = self.site.world.temporary_folder();
                vec![Field::of_path(&folder.join("tripwire-mktemp-x"))]
            }
            "gettempdir" | "tmpdir" => vec![Field::of_path(self.site.world.temporary_folder())],
            "expanduser" => first.iter().map(|field| self.at_home(field)).collect(),
            "home" | "homedir" => vec![self.site.state.variable("HOME")],
            "getenv" if first.iter().any(|field| field.text() == "HOME") => vec![self.site.state.variable("HOME")],
            "glob" | "iglob" | "globSync" => first.iter().flat_map(|field| self.globbed(field)).collect(),
            "listdir" | "readdirSync" | "scandir" | "children" => vec![Field::of_pattern("*")],
            "walk" => first,
            "dirname" => first.iter().map(|field| self.parent(field)).collect(),
            _ => match name.rsplit_once('.') {
                Some((object, method)) => {
                    let values = self.variable(object);
                    self.method(&values, method, arguments)
                }
                None => vec![Field::from_unknown(Origin::Variable(name.to_owned()))],
            },
        }
    }

    /// A method of a path.
    fn method(&mut self, values: &[Field], method: &str, arguments: &[Vec<Field>]) -> Vec<Field> {
        if values.iter().all(|value| value.unknown().is_some()) && !method.contains('.') {
            // `require('os').tmpdir()`: a function of a module.
            return self.call(method, arguments);
        }
        let first = arguments.first().cloned().unwrap_or_default();
        match method {
            "resolve" | "absolute" | "as_posix" | "strip" | "trim" | "path" | "name" => values.to_vec(),
            "expanduser" => values.iter().map(|field| self.at_home(field)).collect(),
            "joinpath" => joined(values, &first, "/"),
            "parent" => values.iter().map(|field| self.parent(field)).collect(),
            "iterdir" => joined(values, &[Field::of_pattern("*")], "/"),
            "glob" => joined(values, &first, "/").iter().flat_map(|field| self.globbed(field)).collect(),
            "rglob" => values.iter().flat_map(|base| first.iter().flat_map(|name| self.found(base, name))).collect(),
            _ => vec![Field::from_unknown(Origin::Variable(method.to_owned()))],
        }
    }

    /// A pattern of names; behind `**` it is looked for everywhere below.
    fn globbed(&self, field: &Field) -> Vec<Field> {
        match field.known().as_deref().and_then(|text| text.split_once("**/")) {
            Some((base, name)) => {
                let base = if base.is_empty() { "." } else { base };
                self.found(&Field::of(base), &Field::of(name))
            }
            None => vec![field.to_pattern()],
        }
    }

    /// What a search below a folder would find.
    fn found(&self, base: &Field, name: &Field) -> Vec<Field> {
        let args = vec![Field::of("find"), base.clone(), Field::of("-name"), name.clone()];
        let call = Call { args, env: Vec::new(), stdin: Stream::Closed, place: Place::Here };
        Search::read(&call).listed(self.site).iter().map(|hit| Field::of(hit)).collect()
    }

    /// The folder that something lies in.
    fn parent(&self, field: &Field) -> Field {
        let path = field.known().filter(|text| !text.contains('*')).and_then(|text| self.site.state.absolute(&text));
        let parent = path.as_deref().and_then(std::path::Path::parent);
        parent.map_or_else(|| Field::from_unknown(Origin::Variable("parent".to_owned())), Field::of_path)
    }

    fn folder(&self) -> Vec<Field> {
        vec![self.site.state.cwd().map_or_else(|| Field::from_unknown(Origin::Output), Field::of_path)]
    }

    fn at_home(&self, field: &Field) -> Field {
        match field.text().starts_with('~') {
            true => {
                let mut home = self.site.state.variable("HOME");
                home.atoms.extend(field.without_prefix(1).atoms);
                home
            }
            false => field.clone(),
        }
    }

    /// A text; what is put into it when it runs is looked up, or unknown.
    fn text(&mut self, text: &str) -> Vec<Field> {
        let text = text.replace("$ENV{HOME}", "${HOME}");
        let mut values = vec![Field::default()];
        let mut rest = text.as_str();
        while let Some((before, after)) = rest.split_once("${") {
            let (name, behind) = after.split_once('}').unwrap_or((after, ""));
            values.iter_mut().for_each(|value| value.push_text(before));
            let put_in = if name.to_lowercase().contains("home") {
                vec![self.site.state.variable("HOME")]
            } else {
                self.variable(name)
            };
            values = joined(&values, &put_in, "");
            rest = behind;
        }
        values.iter_mut().for_each(|value| value.push_text(rest));
        if self.language == Language::Other {
            values.iter_mut().for_each(|value| *value = self.at_home(value)); // R knows the tilde.
        }
        values
    }

    /// What a variable is set to anywhere in the code.
    fn variable(&mut self, name: &str) -> Vec<Field> {
        if matches!(name, "process.env.HOME" | "HOME") {
            return vec![self.site.state.variable("HOME")];
        }
        if name == "__dirname" {
            return self.folder();
        }
        if name == "__file__" {
            return joined(&self.folder(), &[Field::of("script")], "/");
        }
        let (mut values, mut is_set) = (Vec::new(), false);
        self.lookups += 1;
        if self.depth < DEPTH_MAX && self.lookups <= LOOKUPS_MAX && !name.is_empty() {
            let here = (self.at, self.depth);
            self.depth += 1;
            for at in self.places(name) {
                let set = self.set_at(name, at);
                is_set |= set.is_some();
                values.extend(set.unwrap_or_default());
            }
            (self.at, self.depth) = here;
        }
        values.truncate(VALUES_MAX);
        let is_pattern = |value: &Field| value.atoms.iter().any(|atom| matches!(atom, Atom::Glob(_)));
        if values.iter().any(is_pattern)
            && let Some(names) = binding::compared(self.skeleton, name, self.place)
        {
            return names.iter().map(|name| Field::of(name)).collect();
        }
        // What is set to nothing, such as a search that finds nothing, has no value.
        if is_set { values } else { vec![Field::from_unknown(Origin::Variable(name.to_owned()))] }
    }

    /// Where a name stands as a whole word; each time the place behind it.
    fn places(&self, name: &str) -> Vec<usize> {
        let name: Vec<char> = name.chars().collect();
        let code = &self.skeleton.code;
        let starts = code.windows(name.len()).enumerate().filter(|(_, window)| *window == name.as_slice());
        let whole = |at: &usize| {
            let before = at.checked_sub(1).and_then(|before| code.get(before)).copied().unwrap_or(' ');
            let after = code.get(at + name.len()).copied().unwrap_or(' ');
            !is_part(before) && before != '.' && !is_part(after)
        };
        starts.map(|(at, _)| at).filter(whole).map(|at| at + name.len()).take(VALUES_MAX).collect()
    }

    /// What a name is set to by the code around this place, if it is.
    fn set_at(&mut self, name: &str, behind: usize) -> Option<Vec<Field>> {
        let code = &self.skeleton.code;
        let start = behind - name.chars().count();
        let before: String = code.get(start.saturating_sub(HEAD_MAX)..start).unwrap_or_default().iter().collect();
        let next: String = code.get(behind..).unwrap_or_default().iter().take(HEAD_MAX).collect();
        let trimmed = next.trim_start();
        let skipped = next.chars().count() - trimmed.chars().count();
        let earlier = before.trim_end();
        if trimmed.starts_with('=') && !trimmed.starts_with("==") && !trimmed.starts_with("=>") {
            if earlier.ends_with(',') {
                return Some(vec![Field::from_unknown(Origin::Variable(name.to_owned()))]);
            }
            self.at = behind + skipped + 1;
            let values = self.sum();
            return Some(if self.ends(";,)\n}") {
                values
            } else {
                vec![Field::from_unknown(Origin::Variable(name.to_owned()))]
            });
        }
        if let Some((function, number)) = binding::open_head(&before) {
            return Some(self.given(&function, number));
        }
        let changes = ["+=", "/=", "||=", "??=", ".append(", ".extend(", ".push(", ".insert(", ".add(", ".unshift("];
        if earlier.ends_with("lambda") || changes.iter().any(|change| trimmed.starts_with(change)) {
            return Some(vec![Field::from_unknown(Origin::Variable(name.to_owned()))]);
        }
        if let Some((_, head)) = before.rsplit_once("for").filter(|(_, head)| is_head(head)) {
            let ends = ["in ", "of "].iter().filter_map(|word| next.find(word)).min();
            if let Some(end) = ends.filter(|end| next.get(..*end).is_some_and(is_head)) {
                self.at = behind + next.get(..end).map_or(0, |text| text.chars().count()) + "in ".len();
                let values = self.sum();
                // `for root, folders, files in os.walk(x)`: the names that follow the first are names in it.
                return Some(if head.contains(',') { vec![Field::of_pattern("*")] } else { values });
            }
        }
        if let Some(at) = earlier.ends_with(" as").then(|| before.rfind("with ")).flatten() {
            let from = start - before.get(at..).map_or(0, |text| text.chars().count());
            self.at = from + "with ".len();
            return Some(self.sum());
        }
        if trimmed.trim_start_matches(')').trim_start().starts_with("=>") {
            return Some(self.each(start));
        }
        let block = if trimmed.starts_with('|') { binding::block(self.skeleton, start) } else { None };
        block.map(|part| self.in_span(part))
    }

    /// What the code gives a function as one of its arguments; nothing where it never calls it.
    fn given(&mut self, function: &str, number: usize) -> Vec<Field> {
        let unknown = || vec![Field::from_unknown(Origin::Variable(function.to_owned()))];
        let mut values = Vec::new();
        for behind in binding::uses(self.skeleton, function) {
            self.at = behind;
            let called = self.peek() == Some('(');
            values.extend(called.then(|| self.arguments().into_iter().nth(number)).flatten().unwrap_or_else(unknown));
        }
        values
    }

    /// `[…].forEach(name => …)`: the elements of the list.
    fn each(&mut self, start: usize) -> Vec<Field> {
        let before: String = self.skeleton.code.get(..start).unwrap_or_default().iter().collect();
        let before = before.trim_end().trim_end_matches('(').trim_end();
        let list = ["forEach", "map"].iter().find_map(|method| before.strip_suffix(method)?.strip_suffix('.'));
        let Some(open) = list.filter(|list| list.ends_with(']')).and_then(|list| list.rfind('[')) else {
            return vec![Field::from_unknown(Origin::Output)];
        };
        self.at = before.get(..=open).map_or(0, |text| text.chars().count());
        self.list()
    }
}

/// Whether a text between `for` and `in` holds names alone.
fn is_head(text: &str) -> bool {
    text.chars().all(|letter| is_part(letter) || letter.is_whitespace() || ",()".contains(letter))
}

fn is_part(letter: char) -> bool {
    letter.is_alphanumeric() && u32::from(letter) < 0xF_0000 || letter == '_' || letter == '$' || letter == '@'
}

/// Each of the first with each of the second behind it. An absolute path behind a slash stands for itself.
pub(super) fn joined(first: &[Field], second: &[Field], between: &str) -> Vec<Field> {
    let mut out = Vec::new();
    for left in first {
        for right in second {
            if between == "/" && right.text().starts_with('/') {
                out.push(right.clone());
                continue;
            }
            let mut field = left.clone();
            field.push_text(between);
            field.atoms.extend(right.atoms.iter().cloned());
            out.push(field);
        }
    }
    out.truncate(VALUES_MAX);
    out
}
