//! What a command writes, as far as it can be known without running it: code piped into a shell must be read first.

use super::observer::Observer;
use super::{runners, selection};
use crate::line::call::{Call, rest_of};
use crate::line::field::{Field, StandIn};
use crate::line::stream::{Paths, Since, Stream};
use crate::names::Whole;
use crate::search::Search;
use crate::site::Site;
use base64::Engine as _;

/// Programs that fetch from the network and write what they got.
pub(super) const FETCHERS: [&str; 10] =
    ["curl", "wget", "fetch", "aria2c", "http", "https", "xh", "lynx", "nc", "ncat"];
/// Programs that turn text into other text.
const TRANSFORMERS: [&str; 14] = [
    "rev", "xxd", "openssl", "gpg", "gunzip", "zcat", "uudecode", "base32", "sed", "awk", "gawk", "perl", "cut",
    "paste",
];

/// Most numbers of a sequence that are tried one by one.
const NUMBERS_MAX: usize = 4_096;

/// A call that writes, where it would.
pub(super) struct Output<'o> {
    pub(super) site: Site<'o>,
    pub(super) observer: &'o dyn Observer,
}

impl Output<'_> {
    /// What a call writes to its standard output.
    pub(super) fn of(&self, call: &Call) -> Stream {
        let name = call.name();
        match name.as_str() {
            "echo" => echo(call),
            "printf" => printf(call),
            "cat" | "tee" | "head" | "tail" | "sort" | "uniq" | "tac" | "nl" => self.passed_on(call),
            "base64" => decode(call),
            "pwd" => {
                self.site.state.cwd().map_or(Stream::Unknown, |path| Stream::Known(format!("{}\n", path.display())))
            }
            "mktemp" => Stream::Known(format!("{}\n", self.temporary(call))),
            "seq" => sequence(call),
            "wc" if call.operands().is_empty() => Stream::Name(StandIn::Number),
            "nproc" => Stream::Name(StandIn::Number),
            "date" | "gdate" => Stream::Name(date(call)),
            "whoami" | "logname" => self.user(),
            "id" if call.words() == ["-un"] => self.user(),
            "id" if call.has_short(&['u', 'g']) && !call.has_short(&['n']) => Stream::Name(StandIn::Number),
            // Their words can be part of a name and never a path.
            "uuidgen" | "hostname" | "id" | "uname" | "arch" => Stream::Name(StandIn::Word),
            "which" | "type" => self.looked_up(call),
            "command" if call.has_any(&["-v", "-V"]) => self.looked_up(call),
            "dirname" | "basename" | "realpath" | "readlink" => self.path_part(call),
            "git" => self.git_output(call),
            "find" | "fd" | "fdfind" | "ls" => self.listing(call),
            "tr" => translated(call),
            "grep" | "egrep" | "fgrep" | "rg" => selection::of(&self.site, call).unwrap_or_else(|| carried(call)),
            "true" | "false" | ":" | "cd" | "test" | "[" | "rm" | "mkdir" | "cp" | "mv" | "touch" | "export" => {
                Stream::Closed
            }
            "gh" if call.words().iter().any(|word| word.contains("/contents/")) => Stream::Downloaded,
            "redis-cli" | "valkey-cli" if lists_all_keys(call) => Stream::Known("*\n".to_owned()),
            "psql" | "mysql" | "mariadb" if crate::rules::generated_sql(call).is_some() => {
                crate::rules::generated_sql(call).map_or(Stream::Unknown, Stream::Known)
            }
            name if FETCHERS.contains(&name) => Stream::Downloaded,
            name if TRANSFORMERS.contains(&name) && call.stdin != Stream::Downloaded => Stream::Decoded,
            _ => carried(call),
        }
    }

    /// What comes in, or what the named files hold.
    fn passed_on(&self, call: &Call) -> Stream {
        let plain = matches!(call.name().as_str(), "cat" | "tee");
        let values: &[&str] = match call.name().as_str() {
            "head" | "tail" => &["-n", "--lines", "-c", "--bytes"],
            "sort" => &["-k", "--key", "-t", "--field-separator", "-S", "-T", "-o"],
            _ => &[],
        };
        let (_, files) = rest_of(call.args.get(1..).unwrap_or_default(), values, 0);
        let read = |file: &Field| match file.text().as_str() {
            "-" => call.stdin.clone(),
            _ => {
                let path = file.known().and_then(|name| self.site.state.absolute(&name));
                match path {
                    // A script that is only shown may be run as well, and running scripts is not judged; SQL is.
                    Some(path) if path.extension().is_some_and(|ending| ending == "sql") => self.site.contents(&path),
                    Some(path) => self.site.listed_in(&path),
                    None => Stream::Unknown,
                }
            }
        };
        let stream = match files.as_slice() {
            files if files.is_empty() || call.name() == "tee" => call.stdin.clone(),
            files => files.iter().map(read).reduce(Stream::then).unwrap_or(Stream::Unknown),
        };
        if matches!(stream, Stream::Known(_)) && !plain { Stream::Decoded } else { stream }
    }

    /// Where a program lies: of the guard's own that is known, of any other its name stands for it.
    fn looked_up(&self, call: &Call) -> Stream {
        let own = self.site.world.facts.program.as_ref();
        let asked = call.args.last().and_then(Field::known);
        match (own, asked) {
            (Some(own), Some(asked)) if own.file_name().is_some_and(|name| *name == *asked) => {
                Stream::Known(format!("{}\n", own.display()))
            }
            (Some(_) | None, Some(name)) => Stream::Known(name + "\n"),
            (Some(_) | None, None) => Stream::Unknown,
        }
    }

    /// The user's name.
    fn user(&self) -> Stream {
        match &self.site.world.facts.user {
            Some(user) => Stream::Known(format!("{user}\n")),
            None => Stream::Name(StandIn::Word),
        }
    }

    fn lists_folder(&self, field: &Field) -> bool {
        field.known().and_then(|name| self.site.state.absolute(&name)).is_some_and(|path| path.is_dir())
    }

    /// The names in a folder, as `ls` writes them: without the folder. The folder stands beside them, because what is
    /// done with its list is meant for it.
    fn names_in_folder(&self, field: &Field) -> Option<Vec<String>> {
        let mut inside = field.clone();
        inside.push_text("/");
        inside.push_pattern("*");
        let (paths, whole) = self.site.world.all_glob_names(&inside, self.site.state.cwd())?;
        let name = |path: &String| path.rsplit('/').next().map(str::to_owned);
        let own = field.known();
        (whole == Whole::All).then(|| paths.iter().filter_map(name).chain(own).collect())
    }

    /// The name that `mktemp` would make, with `x` for what it chooses.
    fn temporary(&self, call: &Call) -> String {
        let template = call.operands().first().and_then(|field| field.known()).unwrap_or_default();
        if template.contains('/') {
            return template;
        }
        let folder = self.site.world.temporary_folder();
        format!("{}/tripwire-mktemp-{template}x", folder.display())
    }

    fn path_part(&self, call: &Call) -> Stream {
        let Some(path) = call.operands().last().and_then(|field| field.known()) else { return Stream::Unknown };
        let part = match call.name().as_str() {
            "dirname" => match path.trim_end_matches('/').rsplit_once('/') {
                Some(("", _)) => "/".to_owned(),
                Some((parent, _)) => parent.to_owned(),
                None => ".".to_owned(),
            },
            "basename" => path.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_owned(),
            _ => match self.site.state.absolute(&path) {
                Some(path) => path.display().to_string(),
                None => return Stream::Unknown,
            },
        };
        Stream::Known(part + "\n")
    }

    fn git_output(&self, call: &Call) -> Stream {
        let words: Vec<String> = call.args.iter().skip(1).map(Field::text).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match words.as_slice() {
            ["rev-parse", "--show-toplevel"] => {
                match self.site.state.cwd().and_then(|path| self.site.world.repository(path)) {
                    Some(repository) => Stream::Known(format!("{}\n", repository.root().display())),
                    None => Stream::Unknown,
                }
            }
            // A branch is no path, and asking for it costs a process.
            ["rev-parse", "--abbrev-ref", "HEAD"] | ["branch", "--show-current"] | ["symbolic-ref", .., "HEAD"]
                if !self.observer.needs_branch() =>
            {
                Stream::Unknown
            }
            ["rev-parse", "--abbrev-ref", "HEAD"] | ["branch", "--show-current"] => self.git_branch(""),
            ["symbolic-ref", options @ .., "HEAD"] => {
                self.git_branch(if options.contains(&"--short") { "" } else { "refs/heads/" })
            }
            ["rev-parse", asked @ ..] if asked.iter().any(|word| names_folder(word)) => self.git_folder(asked),
            ["rev-parse", ..] | ["describe", ..] => Stream::Name(StandIn::Word),
            ["diff", asked @ ..] if !asked.contains(&"--name-only") => changes(asked),
            ["ls-files" | "diff", asked @ ..] => self.git_listing(asked),
            _ => Stream::Unknown,
        }
    }

    /// The branch that HEAD is on; where it may be on several, one that is protected.
    fn git_branch(&self, prefix: &str) -> Stream {
        let branches =
            self.site.state.cwd().and_then(|path| self.site.world.repository(path)).map(|repo| repo.branches());
        let branches = branches.unwrap_or_default();
        let protected = branches.iter().find(|name| self.site.world.facts.protects(name));
        protected.or(branches.first()).map_or(Stream::Unknown, |branch| Stream::Known(format!("{prefix}{branch}\n")))
    }

    /// The folder that `git rev-parse` names.
    fn git_folder(&self, asked: &[&str]) -> Stream {
        let own = |word: &str| matches!(word, "--git-dir" | "--absolute-git-dir" | "--git-common-dir");
        let repo = self.site.state.cwd().and_then(|path| self.site.world.repository(path));
        let shared = asked.contains(&"--git-common-dir");
        let folder = repo.and_then(|repo| if shared { repo.shared_folder() } else { repo.own_folder() });
        match (folder, asked.iter().all(|word| own(word) || *word == "--path-format=absolute")) {
            (Some(folder), true) => Stream::Known(format!("{}\n", folder.display())),
            (Some(_) | None, _) => Stream::Unknown,
        }
    }

    /// The files that git lists as changed or unknown; other lists are not followed.
    fn git_listing(&self, asked: &[&str]) -> Stream {
        // `-mz` is `-m` and `-z`.
        let letters = |word: &str| word.strip_prefix('-').filter(|rest| !rest.starts_with('-')).map(str::to_owned);
        let joined: String = asked.iter().filter_map(|word| letters(word)).collect();
        let says = |wanted: &[&str]| {
            let short = |word: &&str| word.len() == 2 && word.get(1..).is_some_and(|letter| joined.contains(letter));
            wanted.iter().any(|word| asked.contains(word) || short(word))
        };
        let status = self.site.state.cwd().and_then(|path| self.site.world.repository(path)?.status());
        let Some(status) = status else { return Stream::Unknown };
        let files = if says(&["-o", "--others"]) {
            match (says(&["-i", "--ignored"]), says(&["--exclude-standard"])) {
                (true, _) => status.ignored,
                (false, true) => status.untracked,
                (false, false) => [status.untracked, status.ignored].concat(),
            }
        } else if says(&["-m", "--modified", "--name-only"]) {
            status.dirty().into_iter().cloned().collect()
        } else {
            return Stream::Unknown;
        };
        Stream::Paths(Paths(files.iter().map(|path| path.display().to_string()).collect()))
    }

    /// What `find`, `fd` and `ls` list.
    fn listing(&self, call: &Call) -> Stream {
        match call.name().as_str() {
            "find" => {
                let search = Search::read(call);
                Stream::Paths(Paths(self.observer.listed(&self.site, &search)))
            }
            "fd" | "fdfind" => {
                let search = Search::read(&runners::listing(call));
                Stream::Paths(Paths(self.observer.listed(&self.site, &search)))
            }
            "ls" => {
                let entries = !call.has_short(&['d']) && !call.has_any(&["--directory"]);
                let listed = |field: &&Field| match self.site.world.all_glob_names(field, self.site.state.cwd()) {
                    Some((names, Whole::All)) => Some(names),
                    None if entries && self.lists_folder(field) => {
                        self.names_in_folder(field).or_else(|| Some(vec![field.known()?]))
                    }
                    // Too many to be named one by one, or none: the pattern stands for them.
                    Some((_, Whole::Cut)) | None => Some(vec![field.known()?]),
                };
                let names: Vec<String> = call.operands().iter().filter_map(listed).flatten().collect();
                let whole = call.operands().is_empty();
                Stream::Paths(Paths(if whole { vec!["*".to_owned()] } else { names }))
            }
            _ => Stream::Unknown,
        }
    }
}

/// What an unknown program writes: nobody knows, but what it was given from outside is still from there.
const fn carried(call: &Call) -> Stream {
    match call.stdin {
        Stream::Downloaded => Stream::Downloaded,
        Stream::Decoded => Stream::Decoded,
        Stream::Closed
        | Stream::Known(_)
        | Stream::Name(_)
        | Stream::Paths(_)
        | Stream::Changes(_)
        | Stream::Unknown => Stream::Unknown,
    }
}

/// `tr` between two signs that end names, which leaves the names what they are.
fn translated(call: &Call) -> Stream {
    let sign = |field: &Field| match field.text().as_str() {
        "\\n" | "\n" => Some('\n'),
        "\\0" | "\\000" => Some('\0'),
        " " => Some(' '),
        _ => None,
    };
    let signs: Vec<Option<char>> = call.args.iter().skip(1).map(sign).collect();
    match (signs.as_slice(), &call.stdin) {
        ([Some(from), Some(to)], Stream::Known(text)) => Stream::Known(text.replace(*from, &to.to_string())),
        ([Some(_), Some(_)], Stream::Paths(paths)) => Stream::Paths(paths.clone()),
        (_, Stream::Downloaded) => Stream::Downloaded,
        _ => Stream::Decoded,
    }
}

/// The numbers that `seq` writes, where there are few of them.
fn sequence(call: &Call) -> Stream {
    let numbers: Option<Vec<i64>> = call.operands().iter().map(|field| field.known()?.parse().ok()).collect();
    let plain = call.args.len() == call.operands().len() + 1;
    let bounds = match numbers.as_deref().filter(|_| plain) {
        Some([last]) => Some((1, 1, *last)),
        Some([first, last]) => Some((*first, 1, *last)),
        Some([first, step, last]) if *step > 0 => Some((*first, *step, *last)),
        Some(_) | None => None,
    };
    let Some((first, step, last)) = bounds else { return Stream::Name(StandIn::Number) };
    let numbers = std::iter::successors(Some(first), |number| number.checked_add(step));
    let lines: Vec<String> =
        numbers.take_while(|number| *number <= last).take(NUMBERS_MAX).map(|number| format!("{number}\n")).collect();
    if lines.len() < NUMBERS_MAX { Stream::Known(lines.concat()) } else { Stream::Name(StandIn::Number) }
}

/// Whether a date is written in numbers: `+%Y-%m-%d`, `+%s`.
fn date(call: &Call) -> StandIn {
    let format = call.operands().iter().map(|field| field.text()).find(|text| text.starts_with('+'));
    let Some(format) = format else { return StandIn::Word };
    let letters = format.get(1..).unwrap_or_default().chars();
    let numbers = letters.clone().all(|letter| "%-_.:T0123456789YmdHMSsFjNyuVCeIkl".contains(letter));
    if numbers { StandIn::Number } else { StandIn::Word }
}

/// What `git diff` shows: nothing that can be taken back, if it compares commits or looks at the index alone.
fn changes(asked: &[&str]) -> Stream {
    let brief = ["--cached", "--staged", "--stat", "--shortstat", "--numstat", "--check", "--quiet", "--name-status"];
    let words: Vec<&&str> = asked.iter().filter(|word| !word.starts_with('-')).collect();
    let commits = words.iter().any(|word| word.contains(".."));
    match (asked.iter().any(|word| brief.contains(word)) || commits, words.first()) {
        (true, _) => Stream::Unknown,
        (false, Some(first)) if matches!(**first, "HEAD" | "@") => Stream::Changes(Since::Commit),
        (false, _) => Stream::Changes(Since::Index),
    }
}

/// Options of `git rev-parse` whose answer is a folder or a part of a path.
fn names_folder(word: &str) -> bool {
    ["--git-", "--absolute-git-dir", "--show-", "--shared-index-path", "--resolve-git-dir"]
        .iter()
        .any(|start| word.starts_with(start))
}

/// Whether a client of Redis lists every key there is.
fn lists_all_keys(call: &Call) -> bool {
    let words = call.words();
    let all = call.option(&["--pattern"]).is_none_or(|pattern| pattern.text() == "*");
    let keys = words
        .windows(2)
        .any(|pair| matches!(pair, [verb, pattern] if verb.eq_ignore_ascii_case("keys") && pattern == "*"));
    keys || (call.has_any(&["--scan"]) && all)
}

fn echo(call: &Call) -> Stream {
    let mut joined = Field::default();
    let options = |field: &&Field| matches!(field.text().as_str(), "-n" | "-e" | "-E" | "-ne" | "-en");
    for (number, field) in call.args.iter().skip(1).skip_while(options).enumerate() {
        if number > 0 {
            joined.push_text(" ");
        }
        joined.atoms.extend(field.atoms.iter().cloned());
    }
    joined.push_text("\n");
    let escapes = call.args.get(1).is_some_and(|option| options(&option) && option.text().contains('e'));
    let stream = Stream::of(&joined);
    if escapes { unescaped(stream) } else { stream }
}

/// `printf` with `%s`, `%b`, `%d` and escapes; anything finer is unreadable.
pub(super) fn printf(call: &Call) -> Stream {
    let skip = if call.args.get(1).is_some_and(|field| field.text() == "--") { 2 } else { 1 };
    let mut args = call.args.iter().skip(skip);
    let Some(format) = args.next() else { return Stream::Closed };
    let Some(format) = format.known().map(|format| unescape(&format)) else { return Stream::of(format) };
    let mut joined = Field::default();
    let values: Vec<&Field> = args.collect();
    let mut values = values.into_iter();
    loop {
        let mut used = 0;
        let mut rest = format.as_str();
        while let Some((before, after)) = rest.split_once('%') {
            joined.push_text(before);
            match after.chars().next() {
                Some('s' | 'b' | 'd' | 'q' | 'i') => {
                    if let Some(value) = values.next() {
                        joined.atoms.extend(value.atoms.iter().cloned());
                    }
                    used += 1;
                }
                Some('%') => joined.push_text("%"),
                _ => return Stream::Decoded,
            }
            rest = after.get(1..).unwrap_or_default();
        }
        joined.push_text(rest);
        if used == 0 || values.len() == 0 {
            break;
        }
    }
    unescaped(Stream::of(&joined))
}

/// A stream with its escapes resolved, if it is known.
fn unescaped(stream: Stream) -> Stream {
    if let Stream::Known(text) = &stream { Stream::Known(unescape(text)) } else { stream }
}

/// The escapes that `echo -e` and `printf` know.
fn unescape(text: &str) -> String {
    if !text.contains('\\') {
        return text.to_owned();
    }
    let mut out: Vec<u8> = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        out.extend(before.bytes());
        let kind = after.chars().next().unwrap_or('\\');
        let tail = after.get(kind.len_utf8()..).unwrap_or_default();
        rest = match kind {
            'n' | 't' | 'r' => {
                out.push(match kind {
                    'n' => b'\n',
                    't' => b'\t',
                    _ => b'\r',
                });
                tail
            }
            'x' => numbered(tail, 16, 2, &mut out),
            '0' => numbered(after, 8, 4, &mut out), // `\0` alone is a zero.
            '1'..='7' => numbered(after, 8, 3, &mut out),
            other => {
                out.extend(other.encode_utf8(&mut [0; 4]).bytes());
                tail
            }
        };
    }
    out.extend(rest.bytes());
    String::from_utf8_lossy(&out).into_owned()
}

/// Reads the number of an escape and gives back what stands behind it.
fn numbered<'t>(text: &'t str, radix: u32, most: usize, out: &mut Vec<u8>) -> &'t str {
    let length = text.chars().take(most).take_while(|digit| digit.is_digit(radix)).count();
    let (digits, rest) = text.split_at(length);
    out.extend(u32::from_str_radix(digits, radix).ok().and_then(|value| u8::try_from(value & 0xff).ok()));
    rest
}

fn decode(call: &Call) -> Stream {
    if !call.has_any(&["-d", "-D", "--decode", "-di", "-id"]) {
        return Stream::Decoded;
    }
    let Stream::Known(text) = &call.stdin else { return Stream::Decoded };
    let packed: String = text.chars().filter(|letter| !letter.is_whitespace()).collect();
    let bytes = base64::engine::general_purpose::STANDARD.decode(packed);
    bytes.ok().and_then(|bytes| String::from_utf8(bytes).ok()).map_or(Stream::Decoded, Stream::Known)
}
