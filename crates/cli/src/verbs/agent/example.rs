//! The built-in example: a small broken program in a temporary folder, and a cassette that repairs it.
//!
//! It is compiled into the command, so that it plays on a machine that has nothing else, and it never touches the
//! repository: everything happens in a folder of its own, which stays so that its journal can be looked at.

use crate::error::Problem;
use crate::exit::Exit;
use crate::print;
use std::path::{Path, PathBuf};
use tripwire_agent::session::SessionEnd;
use tripwire_fs::shell_word::shell_word;
use tripwire_workspace::{Places, Workspace};

/// The files of the example; the last two are the cassettes, which lie beside the workspace.
const FILES: [(&str, &str); 6] = [
    ("work/sum.sh", include_str!("../../../../../examples/broken-sum/sum.sh")),
    ("work/test.sh", include_str!("../../../../../examples/broken-sum/test.sh")),
    ("work/TASK.md", TASK),
    ("work/.geometry/MANIFEST.yaml", include_str!("../../../../../examples/broken-sum/MANIFEST.yaml")),
    (CASSETTE, include_str!("../../../../../examples/broken-sum/cassette.jsonl")),
    (ADVISOR, include_str!("../../../../../examples/broken-sum/advisor.jsonl")),
];
const TASK: &str = include_str!("../../../../../examples/broken-sum/TASK.md");
const CASSETTE: &str = "cassette.jsonl";
const ADVISOR: &str = "advisor.jsonl";

/// What a person reads before it begins.
const INTRODUCTION: &str = "\
A small program is broken, and an agent is to fix it. The agent's answers come from a recording,
so this needs no key and no network. The guard that decides, the sandbox that runs the commands
and the journal are the real ones. The agent will run the tests again and again instead of
thinking, be overridden, be held until an advisor has spoken, fix the program, and say that it is
done before the tests have passed.";

/// The example, unpacked.
#[derive(Debug)]
pub(crate) struct Example {
    folder: PathBuf,
    workspace: Workspace,
}

impl Example {
    /// Unpacks it into a new folder below the system's temporary one.
    pub(crate) fn unpack() -> Result<Self, Problem> {
        let folder = fresh_folder()?;
        let work = folder.join("work");
        // Its own `.geometry/` makes it a workspace, whatever lies above the temporary folder.
        let made = std::fs::create_dir_all(work.join(".geometry"))
            .and_then(|()| FILES.iter().try_for_each(|(name, text)| std::fs::write(folder.join(name), text)));
        made.map_err(|error| Problem::open(&folder, error))?;
        let workspace = Workspace::open(&work, &Places::default())?;
        Ok(Self { folder, workspace })
    }

    /// Says what will happen, plays it, and says how to look at it afterwards.
    pub(crate) fn play(self, run: impl FnOnce(&Self) -> Result<(Exit, SessionEnd), Problem>) -> Result<Exit, Problem> {
        INTRODUCTION.lines().for_each(print::say);
        print::say(&format!("It works in {}", self.folder.display()));
        print::say("");
        let (exit, left) = run(&self)?;
        let (work, folder) = (shell_word(&self.folder.join("work")), shell_word(&self.folder));
        let telling = left.telling.map_or(0, |decision| decision.get());
        let verbs = [
            ("log".to_owned(), "every decision, as it was journaled"),
            (format!("why {telling}"), "the one that held the loop, with its rule and its evidence"),
            (format!("replay {}", left.session), "the same loop again, without a model and without tools"),
            ("verify".to_owned(), "that no record was changed"),
        ];
        print::say("");
        print::say("Everything is still there. See the loop being caught, in the browser:");
        print::say("");
        print::say(&format!("  {} web --open --workspace {work}", called_as()));
        print::say("");
        print::say("or in the terminal:");
        print::say("");
        print::say(&format!("  cd {work}"));
        verbs.iter().for_each(|(verb, what)| print::say(&format!("  tripwire {verb:<34} {what}")));
        print::say("");
        print::say(&format!("and when you have seen enough: rm -r {folder}"));
        Ok(exit)
    }

    /// What is to be reached.
    pub(crate) fn objective(&self) -> String {
        TASK.to_owned()
    }

    /// The workspace.
    pub(crate) fn workspace(&self) -> Workspace {
        self.workspace.clone()
    }

    /// The engine.
    pub(crate) fn engine(&self) -> String {
        scripted(&self.folder.join(CASSETTE))
    }

    /// The advisor.
    pub(crate) fn advisor(&self) -> String {
        scripted(&self.folder.join(ADVISOR))
    }
}

/// How this program was called: from a clone by `cargo run`, which sets the variable, or by its name.
fn called_as() -> &'static str {
    if std::env::var_os("CARGO").is_some() { "cargo run --" } else { "tripwire" }
}

fn scripted(file: &Path) -> String {
    format!("scripted:{}", file.display())
}

/// A folder of its own.
fn fresh_folder() -> Result<PathBuf, Problem> {
    /// Names that are tried.
    const TRIES: u32 = 1_000;
    let base = std::env::temp_dir();
    let mut last = std::io::Error::from(std::io::ErrorKind::AlreadyExists);
    for n in 0..TRIES {
        let folder = base.join(format!("tripwire-example-{}-{n}", std::process::id()));
        match std::fs::create_dir(&folder) {
            Ok(()) => return Ok(folder),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => last = error,
            Err(error) => return Err(Problem::open(&folder, error)),
        }
    }
    Err(Problem::open(&base, last))
}
