//! Programs that run the program behind them, and where in their words that program begins. One table for everyone who
//! asks what a command line runs; what a user must treat in its own way (`env -S`, `xargs`) it looks for first.

use alloc::vec::Vec;

/// A program that runs the program behind its options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wrapper {
    /// Its name.
    pub name: &'static str,
    /// The words of which one must follow, as in `poetry run`; none where the program follows at once.
    pub verbs: &'static [&'static str],
    /// Its options that take the next word as their value.
    pub values: &'static [&'static str],
    /// Its plain words before the program, as in `timeout 60`.
    pub skip: usize,
    /// What it changes for the program.
    pub kind: Kind,
}

/// What a wrapper changes for the program that it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Nothing but its priority, its time, its variables or its terminal: it is the same program for the same user.
    Same,
    /// The user, the files, the machine's resources, or who watches it.
    Other,
    /// It is looked for among the packages of a project, or fetched.
    Package,
    /// Words of the input become its arguments.
    Input,
}

const RUN: &[&str] = &["run"];
const EXEC: &[&str] = &["exec"];
/// Options with a value of the runners that a project's packages stand behind.
const PACKAGE_VALUES: &[&str] = &["--with", "--python", "-p", "--package", "-e"];
const CONDA_VALUES: &[&str] = &["-n", "--name", "-p", "--prefix", "--cwd"];
const TIMEOUT_VALUES: &[&str] = &["-s", "-k", "--signal", "--kill-after"];
const SUDO_VALUES: &[&str] =
    &["-u", "-g", "-h", "-p", "-C", "-r", "-t", "-T", "-D", "-U", "-R", "--user", "--group", "--chdir"];
const SCREEN_VALUES: &[&str] = &["-S", "-c", "-e", "-h", "-p", "-s", "-t", "-T"];
const PERF_VERBS: &[&str] = &["stat", "record", "trace", "mem", "c2c"];
const PERF_VALUES: &[&str] = &["-e", "-o", "-p", "-C", "-F", "-r", "-I", "-g", "--call-graph"];
const XARGS_VALUES: &[&str] =
    &["-I", "-n", "-P", "-L", "-d", "-s", "-E", "-a", "--max-args", "--max-procs", "--delimiter", "--arg-file"];

/// Options of `docker run`, `podman run` and `kubectl exec` that take the next word as their value.
pub const CONTAINER_VALUES: &[&str] = &[
    "-v",
    "--volume",
    "--mount",
    "--volumes-from",
    "-e",
    "--env",
    "-w",
    "--workdir",
    "-u",
    "--user",
    "--name",
    "-p",
    "--publish",
    "--network",
    "--entrypoint",
    "--env-file",
    "-c",
    "--container",
    "-n",
    "--namespace",
    "-l",
    "--label",
    "--platform",
    "-h",
    "--hostname",
    "--cpus",
    "-m",
    "--memory",
    "--image",
    "--gpus",
    "--shm-size",
    "--add-host",
    "--annotation",
    "-a",
    "--attach",
    "--cap-add",
    "--cap-drop",
    "--cgroupns",
    "--cidfile",
    "--device",
    "--dns",
    "--expose",
    "--group-add",
    "--ip",
    "--ipc",
    "--link",
    "--log-driver",
    "--log-opt",
    "--memory-swap",
    "--net",
    "--network-alias",
    "--pid",
    "--pull",
    "--restart",
    "--runtime",
    "--secret",
    "--security-opt",
    "--stop-signal",
    "--stop-timeout",
    "--sysctl",
    "--tmpfs",
    "--ulimit",
    "--userns",
    "--uts",
    "--volume-driver",
    "--label-file",
    "--cpu-shares",
    "--cpuset-cpus",
    "--pids-limit",
    "--health-cmd",
    "--index",
    "--detach-keys",
    "--cgroup-parent",
    "--overrides",
];

/// Every wrapper that is known.
const WRAPPERS: &[Wrapper] = &[
    plain("env", &["-u", "-C", "--unset", "--chdir"], 0, Kind::Same),
    plain("command", &[], 0, Kind::Same),
    plain("builtin", &[], 0, Kind::Same),
    plain("exec", &["-a"], 0, Kind::Same),
    plain("noglob", &[], 0, Kind::Same),
    plain("nocorrect", &[], 0, Kind::Same),
    plain("repeat", &[], 1, Kind::Same),
    plain("time", &["-f", "-o", "--format", "--output"], 0, Kind::Same),
    plain("timeout", TIMEOUT_VALUES, 1, Kind::Same),
    plain("gtimeout", TIMEOUT_VALUES, 1, Kind::Same),
    plain("nice", &["-n", "--adjustment"], 0, Kind::Same),
    plain("ionice", &["-c", "-n", "--class", "--classdata"], 0, Kind::Same),
    plain("nohup", &[], 0, Kind::Same),
    plain("setsid", &[], 0, Kind::Same),
    plain("stdbuf", &["-i", "-o", "-e"], 0, Kind::Same),
    plain("unbuffer", &[], 0, Kind::Same),
    plain("caffeinate", &["-t", "-w"], 0, Kind::Same),
    plain("cross-env", &[], 0, Kind::Same),
    plain("env-cmd", &["-f", "--file", "-e", "--environments"], 0, Kind::Same),
    Wrapper { name: "dotenv", verbs: RUN, values: &["-e", "-f"], skip: 0, kind: Kind::Same },
    plain("dotenv", &["-e", "-f"], 0, Kind::Same),
    plain("lvm", &[], 0, Kind::Same),
    plain("sudo", SUDO_VALUES, 0, Kind::Other),
    plain("doas", &["-u", "-C", "-a"], 0, Kind::Other),
    plain("pkexec", &["--user"], 0, Kind::Other),
    plain("gosu", &[], 1, Kind::Other),
    plain("su-exec", &[], 1, Kind::Other),
    plain("setpriv", &["--reuid", "--regid", "--groups"], 0, Kind::Other),
    plain("runcon", &["-u", "-r", "-t", "-l"], 0, Kind::Other),
    plain("chrt", &[], 1, Kind::Other),
    plain("taskset", &[], 1, Kind::Other),
    plain("proot", &["-r", "-b", "-w", "-R", "-S"], 0, Kind::Other),
    plain("fakechroot", &[], 0, Kind::Other),
    plain("arch", &["-e"], 0, Kind::Other),
    plain("uname26", &[], 0, Kind::Other),
    plain("tsocks", &[], 0, Kind::Other),
    plain("gdb", &["-ex", "-x", "-iex"], 0, Kind::Other),
    plain("lldb", &["-o", "-s"], 0, Kind::Other),
    plain("rr", &["-o"], 0, Kind::Other),
    plain("watchexec", &["-w", "-e", "-f", "-i", "--watch", "--exts"], 0, Kind::Other),
    plain("start-stop-daemon", &["-p", "--pidfile", "-u", "--user", "-c", "--chuid"], 0, Kind::Other),
    plain("strace", &["-o", "-e", "-s", "-E", "-u", "-P", "-I"], 0, Kind::Other),
    plain("ltrace", &["-o", "-e", "-s", "-n", "-u"], 0, Kind::Other),
    plain("valgrind", &[], 0, Kind::Other),
    plain("catchsegv", &[], 0, Kind::Other),
    plain("heaptrack", &["-o"], 0, Kind::Other),
    Wrapper { name: "perf", verbs: PERF_VERBS, values: PERF_VALUES, skip: 0, kind: Kind::Other },
    plain("chroot", &[], 1, Kind::Other),
    plain("firejail", &[], 0, Kind::Other),
    plain("fakeroot", &[], 0, Kind::Other),
    plain("unshare", &[], 0, Kind::Other),
    plain("nsenter", &["-t", "--target", "-S", "--setuid", "-G", "--setgid"], 0, Kind::Other),
    plain("setarch", &[], 1, Kind::Other),
    plain("linux32", &[], 0, Kind::Other),
    plain("linux64", &[], 0, Kind::Other),
    plain("systemd-run", &["-p", "-u", "--unit", "--property", "-E", "--setenv"], 0, Kind::Other),
    plain("systemd-inhibit", &[], 0, Kind::Other),
    plain("cgexec", &["-g"], 0, Kind::Other),
    plain("numactl", &["-N", "-m", "-C"], 0, Kind::Other),
    plain("prlimit", &[], 0, Kind::Other),
    plain("choom", &["-n"], 0, Kind::Other),
    plain("tini", &[], 0, Kind::Other),
    plain("dumb-init", &[], 0, Kind::Other),
    plain("with-contenv", &[], 0, Kind::Other),
    plain("busybox", &[], 0, Kind::Other),
    plain("toybox", &[], 0, Kind::Other),
    plain("shx", &[], 0, Kind::Other),
    plain("proxychains", &["-f"], 0, Kind::Other),
    plain("proxychains4", &["-f"], 0, Kind::Other),
    plain("torsocks", &[], 0, Kind::Other),
    plain("sshpass", &["-p", "-f", "-d", "-P"], 0, Kind::Other),
    plain("screen", SCREEN_VALUES, 0, Kind::Other),
    plain("rlwrap", &[], 0, Kind::Other),
    plain("xvfb-run", &["-s", "-n", "-e"], 0, Kind::Other),
    plain("dbus-run-session", &[], 0, Kind::Other),
    plain("faketime", &[], 1, Kind::Other),
    plain("eatmydata", &[], 0, Kind::Other),
    Wrapper { name: "aws-vault", verbs: EXEC, values: &["-d", "--duration"], skip: 1, kind: Kind::Other },
    verb("infisical", RUN, &["--env", "--path", "--projectId"], Kind::Other),
    verb("dotenvx", RUN, &["-f", "--env-file", "-e", "--env"], Kind::Other),
    verb("doppler", RUN, PACKAGE_VALUES, Kind::Other),
    verb("op", RUN, PACKAGE_VALUES, Kind::Other),
    verb("rtk", &["proxy"], PACKAGE_VALUES, Kind::Other),
    plain("npx", &["-p", "--package"], 0, Kind::Package),
    plain("bunx", &[], 0, Kind::Package),
    verb("zellij", RUN, &["-n", "--name", "-d", "--direction", "--cwd"], Kind::Other),
    verb("bun", &["x"], &[], Kind::Package),
    plain("pnpx", &["-p", "--package"], 0, Kind::Package),
    plain("uvx", PACKAGE_VALUES, 0, Kind::Package),
    verb("uv", RUN, PACKAGE_VALUES, Kind::Package),
    verb("poetry", RUN, PACKAGE_VALUES, Kind::Package),
    verb("pipenv", RUN, PACKAGE_VALUES, Kind::Package),
    verb("pdm", RUN, PACKAGE_VALUES, Kind::Package),
    verb("rye", RUN, PACKAGE_VALUES, Kind::Package),
    verb("hatch", RUN, PACKAGE_VALUES, Kind::Package),
    verb("pipx", RUN, PACKAGE_VALUES, Kind::Package),
    verb("bundle", EXEC, PACKAGE_VALUES, Kind::Package),
    verb("npm", EXEC, PACKAGE_VALUES, Kind::Package),
    verb("pnpm", &["exec", "dlx"], PACKAGE_VALUES, Kind::Package),
    verb("yarn", &["exec", "dlx"], PACKAGE_VALUES, Kind::Package),
    verb("mise", EXEC, PACKAGE_VALUES, Kind::Package),
    verb("asdf", EXEC, &[], Kind::Package),
    verb("rbenv", EXEC, &[], Kind::Package),
    verb("pyenv", EXEC, &[], Kind::Package),
    verb("conda", RUN, CONDA_VALUES, Kind::Package),
    verb("mamba", RUN, CONDA_VALUES, Kind::Package),
    verb("micromamba", RUN, CONDA_VALUES, Kind::Package),
    plain("xargs", XARGS_VALUES, 0, Kind::Input),
];

const fn plain(name: &'static str, values: &'static [&'static str], skip: usize, kind: Kind) -> Wrapper {
    Wrapper { name, verbs: &[], values, skip, kind }
}

const fn verb(
    name: &'static str,
    verbs: &'static [&'static str],
    values: &'static [&'static str],
    kind: Kind,
) -> Wrapper {
    Wrapper { name, verbs, values, skip: 0, kind }
}

impl Wrapper {
    /// The wrapper of this name, without its folder, before this word.
    #[must_use]
    pub fn find(name: &str, next: Option<&str>) -> Option<&'static Self> {
        let fits = |verbs: &[&str]| verbs.is_empty() || next.is_some_and(|next| verbs.contains(&next));
        WRAPPERS.iter().find(|wrapper| wrapper.name == name && fits(wrapper.verbs))
    }

    /// Its own words: the name, and the verb where it needs one.
    #[must_use]
    pub const fn own_words(&self) -> usize {
        if self.verbs.is_empty() { 1 } else { 2 }
    }
}

/// What stands before the program that a wrapper runs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Head {
    /// Where variables are set for the program: `env A=b`.
    pub assignments: Vec<usize>,
    /// Where the program is; behind the last word if there is none.
    pub program: usize,
}

impl Head {
    /// Reads the words behind a wrapper's own: options, the values of those that take one, assignments, and so many plain
    /// words.
    #[must_use]
    pub fn of<S: AsRef<str>>(words: &[S], values: &[&str], skip: usize) -> Self {
        let is_end = |at: usize| words.get(at).is_some_and(|word| word.as_ref() == "--");
        let mut head = Self::default();
        while let Some(word) = words.get(head.program).map(AsRef::as_ref).filter(|word| *word != "--") {
            if values.contains(&word) || joins_value(word, values) {
                head.program += 2;
            } else if word.starts_with('-') && word.len() > 1 {
                head.program += 1;
            } else if word.split_once('=').is_some_and(|(name, _)| is_name(name)) {
                head.assignments.push(head.program);
                head.program += 1;
            } else {
                break;
            }
        }
        // `timeout -- 5 cmd` and `timeout 5 -- cmd` both end their options.
        head.program += usize::from(is_end(head.program)) + skip;
        head.program += usize::from(is_end(head.program));
        head.program = head.program.min(words.len());
        head
    }
}

/// Whether a run of short options ends with this one, so that its value follows: `-Atc` for `-c`.
#[must_use]
pub fn ends_cluster(text: &str, name: &str) -> bool {
    let (Some(cluster), Some(letter)) = (text.strip_prefix('-'), name.strip_prefix('-')) else { return false };
    letter.len() == 1
        && cluster.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'0')
        && cluster.ends_with(letter)
        && !cluster.starts_with(letter)
}

/// Whether a run of short options ends with one that takes a value, and does not begin with one that has it already.
fn joins_value(text: &str, values: &[&str]) -> bool {
    let begins = text.get(..2).is_some_and(|first| values.contains(&first));
    !begins && values.iter().any(|value| ends_cluster(text, value))
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn behind(line: &str) -> Vec<&str> {
        let words: Vec<&str> = line.split(' ').collect();
        let wrapper = Wrapper::find(words[0], words.get(1).copied()).unwrap();
        let rest = &words[wrapper.own_words()..];
        rest[Head::of(rest, wrapper.values, wrapper.skip).program..].to_vec()
    }

    #[test]
    fn the_program_behind_a_wrapper_is_found() {
        for line in [
            "env A=b -u C x y",
            "env -- x y",
            "sudo -u bob x y",
            "sudo -nu bob x y",
            "timeout -k 5 60 x y",
            "timeout 5 -- x y",
            "nice -n 5 x y",
            "xargs -0 -n 1 x y",
            "poetry run x y",
            "conda run -n base x y",
            "aws-vault exec prod -- x y",
            "npx -y x y",
        ] {
            assert_eq!(behind(line), ["x", "y"], "{line}");
        }
        for line in ["sudo -l", "env A=b", "timeout 5", "timeout", "xargs -n"] {
            assert!(behind(line).is_empty(), "{line}");
        }
    }

    #[test]
    fn a_wrapper_that_needs_a_verb_is_none_without_it() {
        for (name, next) in [("poetry", Some("install")), ("poetry", None), ("npm", Some("run")), ("x", Some("run"))] {
            assert_eq!(Wrapper::find(name, next), None, "{name} {next:?}");
        }
    }
}
