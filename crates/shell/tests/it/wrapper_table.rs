//! The table of wrappers, and where in their words the program begins that they run.

use tripwire_shell::wrappers::{CONTAINER_VALUES, Head, Kind, Wrapper, ends_cluster};

fn head(line: &str, values: &[&str], skip: usize) -> (Vec<usize>, usize) {
    let words: Vec<&str> = line.split_whitespace().collect();
    let Head { assignments, program } = Head::of(&words, values, skip);
    (assignments, program)
}

#[test]
fn options_values_assignments_and_plain_words_stand_before_the_program() {
    for (line, skip, assignments, program) in [
        ("", 0, &[][..], 0),
        ("x", 0, &[], 0),
        ("x y", 1, &[], 1),
        ("x y", 2, &[], 2),
        ("x y", 3, &[], 2),
        ("-n x", 0, &[], 1),
        ("-n -m x", 0, &[], 2),
        ("--long x", 0, &[], 1),
        ("- x", 0, &[], 0),
        ("-v 1 x", 0, &[], 2),
        ("-v", 0, &[], 1),
        ("-v x", 0, &[], 2),
        ("-av 1 x", 0, &[], 2),
        ("-va x", 0, &[], 1),
        ("-wv x", 0, &[], 1),
        ("-w 1 -v 2 x", 0, &[], 4),
        ("-v1 x", 0, &[], 1),
        ("--value 1 x", 0, &[], 2),
        ("--value=1 x", 0, &[], 1),
        ("a=b x", 0, &[0], 1),
        ("a=b c=d x e=f", 0, &[0, 1], 2),
        ("-v 1 a=b -n x", 0, &[2], 4),
        ("a_1= x", 0, &[0], 1),
        ("=b x", 0, &[], 0),
        ("a-b=c x", 0, &[], 0),
        ("-- x", 0, &[], 1),
        ("-n -- -x", 0, &[], 2),
        ("-- a=b", 0, &[], 1),
        ("5 -- x", 1, &[], 2),
        ("-- 5 x", 1, &[], 2),
        ("-- 5 -- x", 1, &[], 3),
        ("--", 0, &[], 1),
        ("-- --", 0, &[], 2),
        ("-- -- --", 0, &[], 2),
        ("x -- y", 0, &[], 0),
    ] {
        let expected = (assignments.to_vec(), program);
        assert_eq!(head(line, &["-v", "-w", "--value"], skip), expected, "`{line}` with {skip} plain words");
    }
}

#[test]
fn a_cluster_of_options_ends_with_the_one_that_takes_a_value() {
    for (text, name, ends) in [
        ("-Atc", "-c", true),
        ("-0c", "-c", true),
        ("-xc", "-c", true),
        ("-c", "-c", false),
        ("-cc", "-c", false),
        ("-ca", "-c", false),
        ("-ab", "-c", false),
        ("-1c", "-c", false),
        ("-a=c", "-c", false),
        ("--ac", "-c", false),
        ("ac", "-c", false),
        ("-ac", "c", false),
        ("-along", "--long", false),
        ("-vex", "-ex", false),
        ("-a", "-", false),
        ("-", "-c", false),
        ("", "-c", false),
    ] {
        assert_eq!(ends_cluster(text, name), ends, "{text} {name}");
    }
}

#[test]
fn a_wrapper_is_found_by_its_name_and_the_verb_that_it_needs() {
    let found = |name, next| Wrapper::find(name, next).map(|found| (found.own_words(), found.skip, found.kind));
    for (name, next, expected) in [
        ("env", None, Some((1, 0, Kind::Same))),
        ("env", Some("x"), Some((1, 0, Kind::Same))),
        ("timeout", Some("5"), Some((1, 1, Kind::Same))),
        ("sudo", Some("x"), Some((1, 0, Kind::Other))),
        ("chroot", Some("/x"), Some((1, 1, Kind::Other))),
        ("npx", Some("x"), Some((1, 0, Kind::Package))),
        ("poetry", Some("run"), Some((2, 0, Kind::Package))),
        ("poetry", Some("add"), None),
        ("pnpm", Some("exec"), Some((2, 0, Kind::Package))),
        ("pnpm", Some("dlx"), Some((2, 0, Kind::Package))),
        ("dotenv", Some("run"), Some((2, 0, Kind::Same))),
        ("dotenv", Some("x"), Some((1, 0, Kind::Same))),
        ("dotenv", None, Some((1, 0, Kind::Same))),
        ("aws-vault", Some("exec"), Some((2, 1, Kind::Other))),
        ("xargs", Some("x"), Some((1, 0, Kind::Input))),
        ("sud", None, None),
        ("", None, None),
    ] {
        assert_eq!(found(name, next), expected, "{name} {next:?}");
    }
}

/// Lines whose program is `x y`, for the wrappers that differ from each other in what stands before it.
#[test]
fn the_program_of_each_kind_of_wrapper_is_found() {
    for line in [
        "env -u A -C /b --unset C --chdir /d E=f x y",
        "exec -a name x y",
        "repeat 3 x y",
        "time -f %e -o file x y",
        "gtimeout -s KILL -k 5 60 x y",
        "nice --adjustment 5 x y",
        "ionice -c 2 -n 7 x y",
        "stdbuf -o L -e L -i 0 x y",
        "caffeinate -t 5 -i x y",
        "env-cmd -f .env x y",
        "dotenv -e .env -- x y",
        "sudo -u a -g b -h c -p d -C 3 -r e -t f -T 5 -D /g -U h -R /i --user j --group k --chdir /l -E x y",
        "doas -u a x y",
        "pkexec --user a x y",
        "gosu a x y",
        "setpriv --reuid 1 --regid 2 --groups 3 x y",
        "chrt 5 x y",
        "taskset 0x1 x y",
        "proot -r /a -b /b x y",
        "strace -f -o file -e trace=a x y",
        "perf stat -e cycles x y",
        "nsenter -t 1 -m x y",
        "systemd-run -p A=b --unit c x y",
        "numactl -N 0 x y",
        "screen -d -m -S name x y",
        "faketime yesterday x y",
        "aws-vault exec -d 1h prod -- x y",
        "infisical run --env dev -- x y",
        "rtk proxy x y",
        "zellij run -n name -- x y",
        "bun x x y",
        "uv run --with a --python 3 x y",
        "yarn dlx -p a x y",
        "micromamba run -n base x y",
        "xargs -0 -I {} -n 1 -P 4 -L 1 -d , -s 9 -E end -a file --max-args 1 x y",
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        let wrapper = Wrapper::find(words[0], words.get(1).copied()).unwrap_or_else(|| panic!("{line}"));
        let rest = &words[wrapper.own_words()..];
        assert_eq!(rest[Head::of(rest, wrapper.values, wrapper.skip).program..], ["x", "y"], "{line}");
    }
}

#[test]
fn the_options_of_containers_are_options_and_each_is_listed_once() {
    let mut sorted = CONTAINER_VALUES.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(sorted.len(), CONTAINER_VALUES.len());
    assert!(CONTAINER_VALUES.iter().all(|option| option.starts_with('-')));
}
