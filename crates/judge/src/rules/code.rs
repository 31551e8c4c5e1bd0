//! Code of other languages given on the command line: `python -c`, `node -e`, `perl -e`, `ruby -e`, `php -r`, `awk`.
//!
//! Only what is plainly written is seen: a recursive deletion or a shell command whose argument is a text or a list of
//! texts. A deletion of something that the code computes is held, because its target cannot be known.

mod binding;
pub(super) mod literal;
pub(super) mod powershell;
#[cfg(test)]
mod tests;
mod value;

use self::literal::{Language, Literal, Runs, Skeleton};
use super::database;
use super::delete::targets::{self as deleted, Manner};
use crate::findings::{Findings, Run};
use crate::hold::{GuardRule, Hold};
use crate::line::call::{Call, Place, rest_of};
use crate::line::field::{Field, Origin};
use crate::line::stream::Stream;
use crate::losses::shown;
use crate::own_script::own_text;
use crate::site::Site;
use std::path::PathBuf;
use std::rc::Rc;
use tripwire_fs::shell_word::shell_quoted;
use tripwire_shell::wrappers::ends_cluster;

/// Calls that delete a folder with everything in it.
const REMOVERS: [&str; 16] = [
    "rmtree",
    "rmSync",
    "rmdirSync",
    "fs.rm",
    "promises.rm",
    "rm_rf",
    "rm_r",
    "remove_dir",
    "remove_tree",
    "rimraf",
    "removeSync",
    "emptyDirSync",
    "Deno.remove",
    "fs.remove",
    "fse.remove",
    "delete-directory",
];
/// Calls that delete a file. In R the same call deletes folders, if it is told so.
const FILE_REMOVERS: [&str; 7] =
    ["os.remove", "os.unlink", "unlinkSync", "fs.unlink", "promises.unlink", "File.delete", "unlink"];
/// Calls that run a command; whose object they are does not matter, because only their text decides.
const RUNNERS: [&str; 32] = [
    "shell-command",
    "system",
    "exec",
    "execSync",
    "execFile",
    "execFileSync",
    "spawn",
    "spawnSync",
    "popen",
    "popen2",
    "popen3",
    "Popen",
    "run",
    "call",
    "check_call",
    "check_output",
    "getoutput",
    "getstatusoutput",
    "shell_exec",
    "passthru",
    "proc_open",
    "execute",
    "capture2",
    "capture2e",
    "capture3",
    "execv",
    "execvp",
    "execl",
    "execlp",
    "create_subprocess_shell",
    "create_subprocess_exec",
    "do shell script",
];
/// Calls that give a statement to a database.
const QUERIES: [&str; 6] = ["execute", "executescript", "query", "exec", "raw", "$executeRawUnsafe"];
/// Calls that open a database, whose address is their first argument.
const OPENERS: [&str; 6] = ["connect", "create_engine", "createConnection", "Database", "DatabaseSync", "PDO"];
/// Calls whose first argument names the program and whose second is the name that it is told: the first says nothing.
const NAMED_TWICE: [&str; 4] = ["execv", "execvp", "execl", "execlp"];
/// Words that make code run again and again.
const REPEATS: [&str; 7] = ["for", "foreach", "forEach", "while", "each", "map", "times"];
/// Ways to write the home.
const HOMES: [&str; 5] = ["homedir", "HOME", "Path.home", "Dir.home", "expanduser"];

/// Judges an interpreter's code.
pub(super) fn judge(site: &Site<'_>, call: &Call) -> Findings {
    let name = call.name();
    let program = name.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    let (language, options): (Language, &[&str]) = match program {
        "python" | "pypy" => (Language::Python, &["-c"]),
        "node" | "nodejs" | "bun" => (Language::JavaScript, &["-e", "--eval", "-p", "--print", "-pe"]),
        "deno" => (Language::JavaScript, &["eval"]),
        "tsx" | "ts-node" | "esno" => (Language::JavaScript, &["-e", "--eval", "-p", "--print"]),
        "emacs" => (Language::Other, &["--eval", "-eval", "--execute"]),
        "perl" => (Language::Perl, &["-e", "-E", "-ne", "-pe"]),
        "ruby" => (Language::Ruby, &["-e"]),
        "php" => (Language::Php, &["-r"]),
        "lua" | "luajit" => (Language::Lua, &["-e"]),
        "Rscript" | "R" | "osascript" | "julia" => (Language::Other, &["-e"]),
        "awk" | "gawk" | "mawk" | "nawk" => return awk(site, call),
        _ => return Findings::default(),
    };
    let given = call.options(options);
    if let Some(origin) = given.iter().find_map(Field::foreign) {
        return Some(foreign(origin)).into();
    }
    if given.is_empty()
        && !only_checks(call, language)
        && let Some((path, text)) = own_script(site, call, language)
    {
        let mut findings = judge_text(site, call, &text, language);
        // A program that names a statement need not run it: migrations and tests are full of them.
        findings.hold = findings.hold.filter(|hold| hold.rule != GuardRule::Database);
        findings.script = Some(shown(site.world, &path));
        return findings;
    }
    let texts: Vec<String> = if given.is_empty() {
        match source(site, call, language) {
            Stream::Known(text) => vec![text],
            Stream::Downloaded if !call.has_any(&["-m", "-V", "--version"]) => {
                return Some(foreign(&Origin::Downloaded)).into();
            }
            Stream::Downloaded
            | Stream::Closed
            | Stream::Name(_)
            | Stream::Paths(_)
            | Stream::Changes(_)
            | Stream::Decoded
            | Stream::Unknown => return Findings::default(),
        }
    } else {
        given.iter().map(Field::to_code).collect()
    };
    judge_text(site, call, &texts.join("\n"), language)
}

/// Options of `deno` before its script whose next word is their value.
const DENO_VALUES: [&str; 9] =
    ["-c", "--config", "-L", "--log-level", "--cert", "--ext", "--import-map", "--location", "--seed"];
/// The same of `node`, `bun`, `tsx` and `ts-node`.
const NODE_VALUES: [&str; 11] = [
    "-r",
    "--require",
    "--import",
    "--loader",
    "-C",
    "--conditions",
    "-c",
    "--config",
    "-P",
    "--project",
    "--tsconfig",
];

/// Where an interpreter without code on its command line reads it: its input, or a file that the line wrote.
fn source(site: &Site<'_>, call: &Call, language: Language) -> Stream {
    let names = script_names(call, language);
    if names.first().is_none_or(|name| matches!(name.as_str(), "-" | "/dev/stdin")) {
        return call.stdin.clone();
    }
    let written = names.iter().find_map(|name| site.state.files.get(&site.state.absolute(name)?).cloned());
    written.unwrap_or(Stream::Unknown)
}

/// Whether an interpreter only looks for mistakes in a script and runs nothing of it. What stands behind the script is the script's.
fn only_checks(call: &Call, language: Language) -> bool {
    let options = call.args.iter().skip(1).map(Field::text).take_while(|word| word.starts_with('-'));
    let checks = |word: &str| {
        let has = |letter: char| !word.starts_with("--") && word.contains(letter);
        match language {
            Language::JavaScript => word == "--check" || word == "-c" && call.name().starts_with("node"),
            Language::Perl | Language::Ruby => has('c'),
            Language::Php => has('l') || word == "--syntax-check",
            Language::Python | Language::Lua | Language::Awk | Language::Other => false,
        }
    };
    options.into_iter().any(|word| checks(&word))
}

/// A script that the run wrote to the disk before this line.
fn own_script(site: &Site<'_>, call: &Call, language: Language) -> Option<(PathBuf, Rc<str>)> {
    if call.place != Place::Here {
        return None;
    }
    let paths = script_names(call, language).into_iter().filter_map(|name| site.state.absolute(&name));
    paths.filter(|path| !site.state.files.contains_key(path)).find_map(|path| {
        let text = own_text(site.world, &path)?;
        Some((path, text))
    })
}

/// The file that an interpreter runs, as its command line names it: the places where it may lie. What stands behind it is the
/// script's.
fn script_names(call: &Call, language: Language) -> Vec<String> {
    let program = call.name();
    let values: &[&str] = match (language, program.as_str()) {
        (Language::Python, _) => &["-m", "-W", "-X"],
        (Language::JavaScript, "deno") => &DENO_VALUES,
        (Language::JavaScript, _) => &NODE_VALUES,
        (Language::Ruby, _) => &["-I", "-r"],
        (Language::Perl, _) => &["-I"],
        (Language::Php, _) => &["-d", "-c"],
        (Language::Lua, _) => &["-l"],
        (Language::Awk | Language::Other, _) => &[],
    };
    let is_module = |option: &Field| option.borrowed_text() == "-m" || ends_cluster(&option.borrowed_text(), "-m");
    let args = call.args.get(1..).unwrap_or_default();
    let (_, words) = rest_of(args, values, 0);
    let options = args.get(..args.len().saturating_sub(words.len())).unwrap_or_default();
    if language == Language::Python
        && let Some(module) = options.iter().skip_while(|option| !is_module(option)).nth(1)
    {
        let path = module.known().map(|name| name.replace('.', "/"));
        return path.iter().flat_map(|path| [format!("{path}.py"), format!("{path}/__main__.py")]).collect();
    }
    let verb =
        matches!(program.as_str(), "bun" | "deno") && words.first().is_some_and(|word| word.borrowed_text() == "run");
    let words = if verb { rest_of(words.get(1..).unwrap_or_default(), values, 0).1 } else { words };
    words.first().and_then(Field::known).into_iter().collect()
}

fn awk(site: &Site<'_>, call: &Call) -> Findings {
    let (_, rest) = rest_of(call.args.get(1..).unwrap_or_default(), &["-F", "-v"], 0);
    match rest.first().filter(|_| call.option(&["-f", "--file"]).is_none()) {
        Some(code) => judge_text(site, call, &code.to_code(), Language::Awk),
        None => Findings::default(),
    }
}

fn foreign(_origin: &Origin) -> Hold {
    Hold::plain(GuardRule::PipeToShell, "code from the network would be run without anybody reading it")
}

fn judge_text(site: &Site<'_>, call: &Call, code: &str, language: Language) -> Findings {
    let skeleton = Skeleton::of(code, language);
    // What is certain tells more than what is doubtful, wherever it stands.
    let doubtful = match deletion(site, call, &skeleton, language) {
        Some(hold) if hold.rule.is_certain() => return Some(hold).into(),
        doubtful => doubtful,
    };
    if skeleton.calls_of("exec").into_iter().chain(skeleton.calls_of("eval")).any(|at| fetches(&skeleton, at)) {
        return Some(foreign(&Origin::Downloaded)).into();
    }
    if let Some(hold) = statement(&skeleton) {
        return Some(hold).into();
    }
    let mut commands: Vec<String> =
        skeleton.literals().iter().filter(|one| one.runs == Runs::Itself).map(|one| one.text.clone()).collect();
    for runner in RUNNERS {
        let renamed = binding::aliases(&skeleton, runner);
        let names = std::iter::once(runner).chain(renamed.iter().map(String::as_str));
        let calls = names.flat_map(|name| skeleton.calls_of(name));
        commands.extend(calls.filter_map(|at| command(&skeleton, at, runner)));
    }
    if language == Language::JavaScript {
        commands.extend(tagged(&skeleton));
    }
    if language == Language::Awk {
        commands.extend(piped(&skeleton));
    }
    let runs = commands.into_iter().map(|command| Run::code_without_input(command, call)).collect();
    Findings { runs, hold: doubtful, ..Findings::default() }
}

/// A destructive statement that the code gives to a database; one in memory or below `/tmp` is thrown away anyway.
fn statement(skeleton: &Skeleton) -> Option<Hold> {
    let first = |names: &[&str]| -> Vec<Argument> {
        let calls = names.iter().flat_map(|name| skeleton.calls_of(name));
        calls.filter_map(|at| arguments(skeleton, at).into_iter().next()).collect()
    };
    let opened = first(&OPENERS);
    if !opened.is_empty() && opened.iter().all(Argument::is_throwaway) {
        return None;
    }
    let texts = first(&QUERIES).into_iter().filter(|first| first.code.is_empty()).flat_map(|first| first.texts);
    let found = texts.into_iter().find_map(|literal| database::destructive(&literal.text))?;
    Some(Hold::plain(GuardRule::Database, &format!("its code runs `{found}` in a database")))
}

/// What the code deletes itself: the first deletion that is certainly one of something that counts, or else the first doubtful one.
fn deletion(site: &Site<'_>, call: &Call, skeleton: &Skeleton, language: Language) -> Option<Hold> {
    let mut doubtful = None;
    // A function of that name alone is imported from somewhere.
    let bare = if language == Language::JavaScript { ["rm", "rmdir"].as_slice() } else { &[] };
    let renamed: Vec<String> = REMOVERS.iter().flat_map(|remover| binding::aliases(skeleton, remover)).collect();
    for remover in REMOVERS.iter().chain(bare).copied().chain(renamed.iter().map(String::as_str)) {
        for at in deletions_of(skeleton, language, remover) {
            match deleted::judge(site, call.place, Manner::Recursive, &targets(site, skeleton, language, at)) {
                Some(hold) if hold.rule.is_certain() => return Some(hold),
                hold => doubtful = doubtful.or(hold),
            }
        }
    }
    let text: String = skeleton.code.iter().collect();
    // Which of the names are meant is then decided when it runs.
    let chooses =
        text.split(|letter: char| !letter.is_alphanumeric()).any(|word| matches!(word, "if" | "filter" | "fnmatch"));
    let repeats = text.split(|letter: char| !letter.is_alphanumeric()).any(|word| REPEATS.contains(&word));
    for remover in FILE_REMOVERS {
        for at in deletions_of(skeleton, language, remover) {
            let recursive = arguments(skeleton, at).iter().any(|one| one.code.starts_with("recursive="));
            let manner = if recursive { Manner::Recursive } else { Manner::Files };
            let object = binding::receiver(skeleton, remover, at).filter(|_| remover == "unlink");
            let named = match object.filter(|_| language == Language::Python) {
                Some(object) => value::of_span(site, skeleton, language, object),
                None => targets(site, skeleton, language, at),
            };
            if repeats {
                site.world.begin_loop();
            }
            let hold = deleted::judge(site, call.place, manner, &named);
            if repeats {
                site.world.end_loop();
            }
            let inside = |hold: &Hold| matches!(hold.rule, GuardRule::DeleteWork | GuardRule::DeleteWorkspace);
            match hold.filter(|hold| !(chooses && inside(hold))) {
                Some(hold) if hold.rule.is_certain() => return Some(hold),
                hold => doubtful = doubtful.or(hold),
            }
        }
    }
    doubtful
}

/// Calls of a name that deletes. Where calls need brackets, a name without them is only mentioned: `import {rm} from`.
fn deletions_of(skeleton: &Skeleton, language: Language, name: &str) -> Vec<usize> {
    let brackets = matches!(language, Language::Python | Language::JavaScript);
    let called = |at: &usize| {
        let next = skeleton.code.iter().skip(*at).find(|letter| !letter.is_whitespace());
        !brackets || next == Some(&'(')
    };
    skeleton.calls_of(name).into_iter().filter(called).collect()
}

/// What a deletion deletes, as far as it can be told.
fn targets(site: &Site<'_>, skeleton: &Skeleton, language: Language, at: usize) -> Vec<Field> {
    let mut values = value::first_argument(site, skeleton, language, at);
    if let [changed] = skeleton.calls_of("chdir").as_slice()
        && let [folder] = value::first_argument(site, skeleton, language, *changed).as_slice()
        && folder.unknown().is_none()
    {
        values = value::joined(std::slice::from_ref(folder), &values, "/");
    }
    if values.iter().any(|field| field.unknown().is_some() && field.text().is_empty()) {
        return vec![target(site, skeleton, at)];
    }
    values
}

/// Texts behind a `$`, which shells for JavaScript run.
fn tagged(skeleton: &Skeleton) -> Vec<String> {
    let pairs = skeleton.code.windows(2);
    let texts = pairs.filter_map(|pair| match pair {
        ['$', letter] => skeleton.literal(*letter),
        _ => None,
    });
    texts.map(|literal| literal.text.clone()).collect()
}

/// The arguments from a place on: one entry for each, the elements of a list one by one.
fn arguments(skeleton: &Skeleton, from: usize) -> Vec<Argument> {
    let mut arguments = vec![Argument::default()];
    let mut depth = 0_usize;
    for letter in skeleton.code.iter().skip(from) {
        match letter {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' if depth <= 1 => break,
            ')' | ']' | '}' => depth -= 1,
            ',' => arguments.push(Argument::default()),
            ';' | '\n' if depth == 0 => break,
            letter => {
                let Some(last) = arguments.last_mut() else { break };
                match skeleton.literal(*letter) {
                    Some(literal) => last.texts.push(literal.clone()),
                    None if letter.is_whitespace() => {}
                    None => last.code.push(*letter),
                }
            }
        }
    }
    arguments.retain(|one| !one.texts.is_empty() || !one.code.is_empty());
    arguments
}

/// One argument: its texts, and what of the code stands between them.
#[derive(Debug, Clone, Default)]
struct Argument {
    texts: Vec<Literal>,
    code: String,
}

impl Argument {
    /// Whether it is the address of a database that nobody keeps.
    fn is_throwaway(&self) -> bool {
        let [Literal { text, .. }] = self.texts.as_slice() else { return false };
        let place = text.strip_prefix("sqlite:").unwrap_or(text);
        let in_memory = matches!(place.trim_start_matches('/'), ":memory:" | "file::memory:");
        let is_temporary = place.starts_with("/tmp/") || place.starts_with("////tmp/");
        self.code.is_empty() && (in_memory || is_temporary && !place.contains(".."))
    }

    /// As a text for a shell; what the code puts in is a variable that nobody knows.
    fn shown(&self) -> String {
        let text: String = self.texts.iter().map(|literal| literal.text.as_str()).collect();
        if self.code.is_empty() { text } else { format!("{text}${{unknown}}") }
    }
}

/// The command that a call runs: one text for a shell, or a program with its arguments.
fn command(skeleton: &Skeleton, from: usize, runner: &str) -> Option<String> {
    let mut arguments = arguments(skeleton, from);
    // `cmd = ['rm', 'x']; run(cmd)`: a name that is bound once is what it is bound to.
    if let Some(name) = arguments.first().filter(|first| first.texts.is_empty()).map(|first| first.code.clone())
        && let Some(at) = binding::bound_once(skeleton, &name)
    {
        arguments.splice(..1, self::arguments(skeleton, at));
    }
    if NAMED_TWICE.contains(&runner) && arguments.len() > 1 {
        arguments.remove(0);
    }
    // `shell=True`, `{stdio: 'inherit'}` and `cwd=…` say how, not what.
    arguments.retain(|one| !one.code.contains('=') && !one.code.contains(':') && !one.code.contains('{'));
    let first = arguments.first().filter(|first| !first.texts.is_empty())?;
    if let [only] = arguments.as_slice() {
        // `"rm -rf x".split()` is the same command, and a call behind a text changes nothing that matters here.
        let text: String = only.texts.iter().map(|literal| literal.text.as_str()).collect();
        let called = only.code.strip_prefix('.').is_some_and(|rest| rest.starts_with(char::is_alphabetic));
        let plain = only.code.is_empty() || called && only.texts.len() == 1;
        return Some(if plain { text } else { format!("{text}${{unknown}}") });
    }
    if first.shown().contains(char::is_whitespace) {
        return Some(first.shown());
    }
    let word = |one: &Argument| {
        if one.code.is_empty() { shell_quoted(&one.shown()) } else { "\"${unknown}\"".to_owned() }
    };
    Some(arguments.iter().map(word).collect::<Vec<_>>().join(" "))
}

/// Whether the code that a call runs is fetched inside the call.
fn fetches(skeleton: &Skeleton, from: usize) -> bool {
    let fetchers = ["urlopen", "requests.get", "httpx.get", "URI.open", "Net::HTTP", "LWP", "file_get_contents"];
    arguments(skeleton, from).iter().any(|one| fetchers.iter().any(|fetcher| one.code.contains(fetcher)))
}

/// The texts beside a pipe, which `awk` runs.
fn piped(skeleton: &Skeleton) -> Vec<String> {
    let code: Vec<char> = skeleton.code.iter().copied().filter(|letter| !letter.is_whitespace()).collect();
    let mut found = Vec::new();
    for trio in code.windows(3) {
        let [before, '|', after] = trio else { continue };
        found.extend(
            [before, after].into_iter().filter_map(|letter| skeleton.literal(*letter)).map(|one| one.text.clone()),
        );
    }
    found
}

/// What a deletion deletes: a text, a home, or something unknown.
fn target(site: &Site<'_>, skeleton: &Skeleton, from: usize) -> Field {
    let Some(first) = arguments(skeleton, from).into_iter().next() else {
        return Field::from_unknown(Origin::Output);
    };
    let text: String = first.texts.iter().map(|literal| literal.text.as_str()).collect();
    let home = site.state.variable("HOME");
    if first.code.contains("expanduser") {
        let mut field = home;
        field.push_text(text.strip_prefix('~').unwrap_or(&text));
        return field;
    }
    if HOMES.iter().any(|word| first.code.contains(word) || text == "HOME") {
        return home;
    }
    let several = first.texts.len() > 1 && !first.code.is_empty();
    let joined = several || first.code.contains("join") || first.code.contains('+') || text.contains("${");
    if first.texts.is_empty() || joined {
        return Field::from_unknown(Origin::Variable(first.code));
    }
    Field::of(&text)
}
