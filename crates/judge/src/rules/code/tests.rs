//! What expressions of other languages stand for, as a deletion of them would read it.

use super::literal::{Language, Skeleton};
use super::{binding, value};
use crate::facts::Facts;
use crate::line::field::Field;
use crate::line::state::State;
use crate::site::Site;
use crate::world::World;

/// The values of the first argument of the last call of `rm` in some code, as a person would write them.
fn values(language: Language, code: &str) -> String {
    let facts = Facts { workspace: "/w".into(), cwd: "/w".into(), temporary: vec!["/t".into()], ..Facts::default() };
    let world = World::new(&facts);
    let mut state = State { cwds: vec!["/w".into()], ..State::default() };
    state.variables.insert("HOME".to_owned(), Field::of("/h"));
    let site = Site { world: &world, state: &state };
    let skeleton = Skeleton::of(code, language);
    let at = skeleton.calls_of("rm").pop().unwrap();
    let values = value::first_argument(&site, &skeleton, language, at);
    values.iter().map(Field::shown).collect::<Vec<_>>().join(" ")
}

fn check(language: Language, table: &[(&str, &str)]) {
    let found: Vec<(&str, String)> = table.iter().map(|(code, _)| (*code, values(language, code))).collect();
    let wrong: Vec<String> = std::iter::zip(table, &found)
        .filter(|((_, expected), (_, found))| expected != found)
        .map(|((code, expected), (_, found))| format!("`{code}`: `{found}`, not `{expected}`"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn an_expression_of_python_stands_for_its_values() {
    check(
        Language::Python,
        &[
            ("rm('a')", "a"),
            ("rm ('a')", "a"),
            ("rm( 'a' )", "a"),
            ("rm('a', ignore_errors=True)", "a"),
            ("rm('a' + \"b\")", "ab"),
            ("rm('a' + 'b' + 'c')", "abc"),
            ("rm(('a') + 'b')", "ab"),
            ("rm('a' if x else 'b')", "$(…)"),
            ("rm('a' % x)", "$(…)"),
            ("rm(('a' if x else 'b'))", "a $(…)"),
            ("rm(('a', 'b'))", "a b"),
            ("rm((('a')))", "a"),
            ("rm('a' - 'b')", "$(…)"),
            ("rm(-1)", "$(…)"),
            ("rm()", "$(…)"),
            ("rm(", "$(…)"),
            ("rm('a'", "a"),
            ("rm('a');", "a"),
            ("rm(['a', 'b'])", "a b"),
            ("rm([ 'a' , 'b' , ])", "a b"),
            ("rm(['a', 'b' if x else 'c'])", "a b $(…)"),
            ("rm([])", ""),
            ("rm([x for x in ['a', 'b']])", "a b"),
            ("for f in ('a', 'b'): rm(f)", "a b"),
            ("for f in ['a', 'b']: rm(f)", "a b"),
            ("for f in ['a'] + ['b']: rm(f)", "ab"),
            ("for f, g in [('a', 'b')]: rm(g)", "*"),
            ("for root, folders, files in os.walk('a'): rm(root)", "a"),
            ("for root, folders, files in os.walk('a'): rm(files)", "*"),
            ("f = 'a'\nrm(f)", "a"),
            ("f='a'; rm(f)", "a"),
            ("f = 'a'\nf = 'b'\nrm(f)", "a b"),
            ("f = 'a' if x else 'b'\nrm(f)", "${f}"),
            ("f, g = 'a', 'b'\nrm(f)", "${f}"),
            ("f, g = 'a', 'b'\nrm(g)", "${g}"),
            ("f == 'a'\nrm(f)", "${f}"),
            ("f = 'a'\nf += 'b'\nrm(f)", "a ${f}"),
            ("f = []\nf.append('b')\nrm(f)", "${f}"),
            ("x.f = 'a'\nrm(f)", "${f}"),
            ("ff = 'a'\nrm(f)", "${f}"),
            ("fx = 'a'\nrm(f)", "${f}"),
            ("rm(f)", "${f}"),
            ("rm(f[0])", "$(…)"),
            ("rm(f{0})", "$(…)"),
            ("rm(a.b)", "${a.b}"),
            ("rm(x('a'))", "${x}"),
            ("rm(f'{x}/b')", "${unknown}/b"),
            ("rm(f'a/{x}')", "a/${unknown}"),
            ("rm(lambda x: x)", "$(…)"),
            ("with open('a') as f: rm(f)", "${open}"),
            ("with Path('a') as f: rm(f)", "a"),
            ("with tempfile.TemporaryDirectory() as f: rm(f)", "/t/tripwire-mktemp-x"),
            ("def d(f): rm(f)\nd('a')", "a"),
            ("def d(f): rm(f)\nd('a')\nd('b')", "a b"),
            ("def d(e, f): rm(f)\nd('a', 'b')", "b"),
            ("def d(self, f): rm(f)\nx.d('a')", "a"),
            ("def d(f): rm(f)\nmap(d, x)", "${d}"),
            ("def d(f): rm(f)", ""),
        ],
    );
}

#[test]
fn calls_of_python_that_give_paths_are_known() {
    check(
        Language::Python,
        &[
            ("rm(os.path.join('a', 'b', 'c'))", "a/b/c"),
            ("rm(os.path.join('a', '/b'))", "/b"),
            ("rm(os.path.join())", "$(…)"),
            ("rm(os.getcwd())", "/w"),
            ("rm(os.getcwd() + '/a')", "/w/a"),
            ("rm(Path.cwd() / 'a')", "/w/a"),
            ("rm(Path('a') / 'b' / 'c')", "a/b/c"),
            ("rm(Path())", "."),
            ("rm(str(Path('a')))", "a"),
            ("rm(os.path.abspath('a'))", "a"),
            ("rm(sorted(['b', 'a']))", "b a"),
            ("rm(tempfile.mkdtemp())", "/t/tripwire-mktemp-x"),
            ("rm(tempfile.gettempdir() + '/a')", "/t/a"),
            ("rm(os.path.expanduser('~/a'))", "/h/a"),
            ("rm(os.path.expanduser('a'))", "a"),
            ("rm(Path('~/a').expanduser())", "/h/a"),
            ("rm(Path.home() / 'a')", "/h/a"),
            ("rm(os.getenv('HOME') + '/a')", "/h/a"),
            ("rm(os.getenv('X') + '/a')", "${getenv}/a"),
            ("rm(os.environ['HOME'])", "$(…)"),
            ("rm(glob.glob('a/*'))", "a/*"),
            ("rm(os.listdir('a'))", "*"),
            ("rm(os.path.dirname('a/b'))", "/w/a"),
            ("rm(os.path.dirname(x))", "${parent}"),
            ("rm(os.path.dirname('a*/b'))", "${parent}"),
            ("rm(os.path.dirname(__file__))", "/w"),
            ("rm(Path('a/b').parent)", "/w/a"),
            ("rm(Path('a').parent.parent)", "/"),
            ("rm(Path('a').joinpath('b'))", "a/b"),
            ("rm(Path('a').resolve())", "a"),
            ("rm(Path('a').iterdir())", "a/*"),
            ("rm(Path('a').glob('*.x'))", "a/*.x"),
            ("rm(' a'.strip())", " a"),
            ("rm(Path('a').with_suffix('.b'))", "${with_suffix}"),
            ("rm(tempfile.mkdtemp().strip())", "/t/tripwire-mktemp-x"),
        ],
    );
}

#[test]
fn expressions_of_other_languages_stand_for_their_values() {
    check(
        Language::JavaScript,
        &[
            ("rm('a' / 'b')", "$(…)"),
            ("rm(`a/${x}`)", "a/${x}"),
            ("const x = 'b'; rm(`a/${x}`)", "a/b"),
            ("const x = 'b'; rm(`a/${x}/c/${x}`)", "a/b/c/b"),
            ("rm(`a/${x`)", "a/${x}"),
            ("rm(`${process.env.HOME}/a`)", "/h/a"),
            ("rm(path.join(__dirname, 'a'))", "/w/a"),
            ("rm(process.env.HOME + '/a')", "/h/a"),
            ("rm(process.cwd())", "/w"),
            ("rm(require('os').tmpdir() + '/a')", "/t/a"),
            ("rm(require('path').join('a', 'b'))", "a/b"),
            ("rm(await x('a'))", "${x}"),
            ("rm(new String('a'))", "a"),
            ("['a', 'b'].forEach(f => rm(f))", "a b"),
            ("['a', 'b'].forEach((f) => rm(f))", "a b"),
            ("['a', 'b'].map(f => rm(f))", "a b"),
            ("x.forEach(f => rm(f))", "$(…)"),
            ("['a'].filter(f => rm(f))", "$(…)"),
            ("for (const f of ['a', 'b']) rm(f)", "a b"),
            ("for (const f of ['a', 'b']) { rm(f); }", "a b"),
            ("const f = 'a';\nrm(f);", "a"),
            ("const f = x => 'a'; rm(f)", "${f}"),
            ("function d(f) { rm(f) } d('a')", "a"),
            ("const f = ['a']; f.push('b'); rm(f)", "a ${f}"),
        ],
    );
    check(
        Language::Ruby,
        &[
            ("rm('a')", "a"),
            ("rm 'a'", "a"),
            ("rm 'a'\nx", "a"),
            ("rm \"a/#{x}\"", "a/${x}"),
            ("Dir['a/*'].each { |f| rm(f) }", "a/*"),
            ("Dir['a/*'].each do |f| rm(f) end", "a/*"),
            ("Dir.glob('a/*').each { |f| rm f }", "a/*"),
            ("%w(a b).each { |f| rm f }", "${w}"),
            ("['a', 'b'].each { |f| rm f }", "a b"),
            ("rm Dir.pwd", "${Dir.pwd}"),
            ("rm Dir.home() + '/a'", "/h/a"),
            ("rm File.join(Dir.home(), 'a')", "/h/a"),
        ],
    );
    check(
        Language::Perl,
        &[
            ("rm('a')", "a"),
            ("rm glob('a/*')", "a/*"),
            ("my $f = 'a'; rm($f)", "a"),
            ("rm(\"$ENV{HOME}/a\")", "/h/a"),
            ("rm($f{a})", "$(…)"),
        ],
    );
    check(Language::Other, &[("rm('~/a')", "/h/a"), ("rm('a')", "a")]);
    check(Language::Php, &[("rm('~/a')", "~/a")]);
}

#[test]
fn a_condition_before_a_deletion_names_the_texts_that_are_reached() {
    let named = |code: &str| {
        let skeleton = Skeleton::of(code, Language::Python);
        let place = skeleton.calls_of("rm").pop().unwrap();
        binding::compared(&skeleton, "f", place).map(|names| names.join(" "))
    };
    for (code, expected) in [
        ("if f == 'a': rm(f)", Some("a")),
        ("if f=='a': rm(f)", Some("a")),
        ("if (f === 'a') rm(f)", Some("a")),
        ("if f in ('a', 'b'): rm(f)", Some("a b")),
        ("if f in ['a', 'b']:\n  rm(f)", Some("a b")),
        ("if f in {'a'}: rm(f)", Some("a")),
        ("if f in (): rm(f)", None),
        ("if f == x: rm(f)", None),
        ("if f in ('a', x): rm(f)", None),
        ("if f != 'a': rm(f)", None),
        ("if g == 'a': rm(f)", None),
        ("if ff == 'a': rm(f)", None),
        ("if f == 'a' or x: rm(f)", None),
        ("if f == 'a' || x: rm(f)", None),
        ("if f == 'a': x\nelse: rm(f)", None),
        ("if f == 'a': continue\nrm(f)", None),
        ("if f == 'a': x; rm(f)", None),
        ("if (f == 'a') { x } rm(f)", None),
        ("if (f == 'a') {\n rm(f) }", Some("a")),
        ("if f == 'a':\n\n\n rm(f)", None),
        ("rm(f)", None),
    ] {
        assert_eq!(named(code).as_deref(), expected, "{code}");
    }
}

#[test]
fn names_are_bound_to_calls_functions_and_values() {
    let skeleton = |code: &str| Skeleton::of(code, Language::Python);
    let aliases = |code: &str| binding::aliases(&skeleton(code), "rmtree").join(" ");
    assert_eq!(aliases("from shutil import rmtree as gone"), "gone");
    assert_eq!(aliases("const {rmtree: gone_2, x} = y"), "gone_2");
    assert_eq!(aliases("rmtree as  gone; rmtree as again"), "gone again");
    assert_eq!(aliases("rmtree('a'); rmtree as 2"), "");
    let head = |before: &str| binding::open_head(before);
    for (before, expected) in [
        ("def f(", Some(("f", 0))),
        ("def f(a, b, ", Some(("f", 2))),
        ("def f(self, ", Some(("f", 0))),
        ("def f(cls, a, ", Some(("f", 1))),
        ("function f(a: [b], ", Some(("f", 1))),
        ("def f(a); def g(a, ", Some(("g", 1))),
        ("function f() { def g(", Some(("g", 0))),
        ("def f(a=1, ", None),
        ("def f(a) ", None),
        ("def (", None),
        ("def f x(", None),
        ("f(a, ", None),
    ] {
        let expected = expected.map(|(name, number): (&str, usize)| (name.to_owned(), number));
        assert_eq!(head(before), expected, "{before}");
    }
    let bound = |code: &str| {
        let skeleton = skeleton(code);
        let at = binding::bound_once(&skeleton, "f")?;
        Some(skeleton.code.get(at..)?.iter().take(2).collect::<String>())
    };
    assert_eq!(bound("f = x").as_deref(), Some(" x"));
    assert_eq!(bound("g(f); f  =yz").as_deref(), Some("yz"));
    for code in ["f = x; f = y", "f == x", "f => x", "g = x", "f", ""] {
        assert_eq!(bound(code), None, "{code}");
    }
}
