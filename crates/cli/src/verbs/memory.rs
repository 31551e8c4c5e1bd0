//! `tripwire memory`: originals kept whole, compressed forms that point to them, exact bytes back.

use crate::error::Problem;
use crate::exit::Exit;
use crate::print::{self, Form as Printed, Out};
use crate::session;

use crate::workspace::{self, Acting, Where};
use clap::{Args, Subcommand, ValueEnum};
use serde_json::json;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use tripwire_authority::{Need, Who};
use tripwire_core::input::{Grant, Permission};
use tripwire_fs::bounded::{self, BoundedError};
use tripwire_session::driver::Driver;
use tripwire_session::memory::{ENTRY_BYTES_MAX, Form, Listed, MemoryError, MemoryStore, StoredAs, Visibility};
use tripwire_workspace::Workspace;

/// Store contents on disk and get exactly the same bytes back.
#[derive(Debug, Args)]
pub(crate) struct MemoryArgs {
    #[command(subcommand)]
    act: MemoryAct,
}

#[derive(Debug, Subcommand)]
enum MemoryAct {
    /// Store a content and print its pointer.
    Put(PutArgs),
    /// Attach a compressed form to an original, or pack the original's bytes on disk.
    Compress(CompressArgs),
    /// Write the exact bytes of a content to standard output.
    Get(GetArgs),
    /// List every content with its forms.
    List(ListArgs),
}

#[derive(Debug, Args)]
struct PutArgs {
    /// The content; `-` reads standard input.
    #[arg(default_value = "-")]
    file: PathBuf,
    /// Only roles that may read private memories can get it.
    #[arg(long)]
    private: bool,
    #[command(flatten)]
    acting: Acting,
    #[command(flatten)]
    place: Where,
    #[command(flatten)]
    form: Printed,
}

#[derive(Debug, Args)]
struct CompressArgs {
    /// The original, in full or by its first digits.
    pointer: String,
    /// The compressed form; `-` reads standard input. Without one the original is packed losslessly.
    #[arg(requires = "form")]
    file: Option<PathBuf>,
    /// The kind of compressed form.
    #[arg(long, value_name = "FORM", requires = "file")]
    form: Option<FormName>,
    #[command(flatten)]
    acting: Acting,
    #[command(flatten)]
    place: Where,
    /// Write JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct GetArgs {
    /// The content, in full or by its first digits.
    pointer: String,
    #[command(flatten)]
    acting: Acting,
    #[command(flatten)]
    place: Where,
    /// Write the content's metadata instead of its bytes.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct ListArgs {
    #[command(flatten)]
    acting: Acting,
    #[command(flatten)]
    place: Where,
    /// Write JSON, one object per content.
    #[arg(long)]
    json: bool,
}

/// The forms by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FormName {
    Summary,
    Diff,
    Embedding,
}

impl From<FormName> for Form {
    fn from(name: FormName) -> Self {
        match name {
            FormName::Summary => Self::Summary,
            FormName::Diff => Self::Diff,
            FormName::Embedding => Self::Embedding,
        }
    }
}

/// Runs the verb.
pub(crate) fn run(args: &MemoryArgs) -> Result<Exit, Problem> {
    match &args.act {
        MemoryAct::Put(args) => session::print_refusal(put(args), args.form),
        MemoryAct::Compress(args) => session::print_refusal(compress(args), Printed { json: args.json }),
        MemoryAct::Get(args) => session::print_refusal(get(args), Printed { json: args.json }),
        MemoryAct::List(args) => list(args),
    }
}

fn put(args: &PutArgs) -> Result<Exit, Problem> {
    let bytes = read(&args.file)?;
    let visibility = if args.private { Visibility::Private } else { Visibility::Public };
    let workspace = args.place.open()?;
    Door::of(&workspace, &args.acting)?.write(visibility)?;
    let pointer = store(workspace.layout()).redacting(workspace::redactor(&workspace)?).put(&bytes, visibility)?;
    let line = match args.form.json {
        true => json!({"pointer": pointer, "bytes": bytes.len()}).to_string(),
        false => pointer.to_string(),
    };
    print(&line)
}

fn compress(args: &CompressArgs) -> Result<Exit, Problem> {
    let workspace = args.place.open()?;
    let store = store(workspace.layout());
    let original = store.resolve(&args.pointer)?;
    let visibility = store.record(&original)?.visibility;
    let mut door = Door::of(&workspace, &args.acting)?;
    door.read(visibility)?;
    door.write(visibility)?;
    let (Some(file), Some(form)) = (&args.file, args.form) else {
        let stored = store.pack(&original)?;
        return print(&match args.json {
            true => json!({"pointer": original, "stored": stored}).to_string(),
            false => match stored {
                StoredAs::Deflated => format!("{original} is packed"),
                StoredAs::Plain => format!("{original} stays as it is: packing would not make it smaller"),
            },
        });
    };
    let bytes = read(file)?;
    let store = store.redacting(workspace::redactor(&workspace)?);
    let pointer = store.compress(&original, form.into(), &bytes)?;
    print(&match args.json {
        true => json!({"pointer": pointer, "original": original, "form": Form::from(form)}).to_string(),
        false => pointer.to_string(),
    })
}

fn get(args: &GetArgs) -> Result<Exit, Problem> {
    let workspace = args.place.look()?;
    let store = store(workspace.layout());
    let pointer = store.resolve(&args.pointer)?;
    Door::of(&workspace, &args.acting)?.read(store.record(&pointer)?.visibility)?;
    let bytes = store.get(&pointer)?;
    if args.json {
        let record = store.record(&pointer)?;
        let forms: Vec<_> = record.forms.iter().map(|form| json!(form)).collect();
        let origins: Vec<_> = record.origins.iter().map(|origin| json!(origin)).collect();
        let about = json!({
            "pointer": pointer, "bytes": bytes.len(), "visibility": record.visibility, "forms": forms, "origins": origins,
        });
        return print(&about.to_string());
    }
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(&bytes).and_then(|()| stdout.flush()).map_err(Problem::Output)?;
    Ok(Exit::Done)
}

fn list(args: &ListArgs) -> Result<Exit, Problem> {
    let workspace = args.place.look()?;
    let mut listed = store(workspace.layout()).list()?;
    let hidden = Door::of(&workspace, &args.acting)?.hide(&mut listed);
    if hidden > 0 {
        print::say(&format!("note: {hidden} private contents are not shown to this role"));
    }
    let mut out = Out::lock();
    for content in &listed {
        out.line(&if args.json { as_json(content) } else { in_words(content) })?;
    }
    if listed.is_empty() && !args.json {
        print::say("nothing is stored; put something with `tripwire memory put FILE`");
    }
    out.flush()?;
    Ok(Exit::Done)
}

fn as_json(Listed { pointer, stored, record }: &Listed) -> String {
    json!({
        "pointer": pointer, "stored": stored, "visibility": record.visibility,
        "forms": record.forms, "origins": record.origins,
    })
    .to_string()
}

fn in_words(Listed { pointer, stored, record }: &Listed) -> String {
    let stored = match stored {
        StoredAs::Plain => "plain",
        StoredAs::Deflated => "packed",
    };
    let visibility = visible(record.visibility);
    let mut line = format!("{pointer}  {stored}  {visibility}");
    for form in &record.forms {
        line.push_str(&format!("\n  {} of it: {}", name(form.form), form.pointer));
    }
    for origin in &record.origins {
        line.push_str(&format!("\n  {} of {}", name(origin.form), origin.original));
    }
    line
}

const fn name(form: Form) -> &'static str {
    match form {
        Form::Summary => "summary",
        Form::Diff => "diff",
        Form::Embedding => "embedding",
    }
}

/// The door of an agent to the store. A person, who names no role, walks past it.
struct Door(Option<Driver>);

impl Door {
    fn of(workspace: &Workspace, acting: &Acting) -> Result<Self, Problem> {
        let role = acting.named();
        role.map(|role| session::session(workspace, Some(&role))).transpose().map(Self)
    }

    /// Asks for the right to store something.
    fn write(&mut self, visibility: Visibility) -> Result<(), Problem> {
        self.ask("memory.write", Permission::CanWriteMemories, visibility)
    }

    /// Asks for the right to read something; what is public anybody may read.
    fn read(&mut self, visibility: Visibility) -> Result<(), Problem> {
        match visibility {
            Visibility::Public => Ok(()),
            Visibility::Private => self.ask("memory.read", Permission::CanAccessPrivateMemories, visibility),
        }
    }

    fn ask(&mut self, tool: &str, permission: Permission, visibility: Visibility) -> Result<(), Problem> {
        let Some(driver) = &mut self.0 else { return Ok(()) };
        let resource = visible(visibility);
        session::ask(driver, tool, Some(resource), &[Need::new(permission, resource)])
    }

    /// Takes out of a listing what the role may not see, and says how much that was.
    fn hide(&self, listed: &mut Vec<Listed>) -> usize {
        let Some(driver) = &self.0 else { return 0 };
        let (who, before) = (Who::role(driver.role()), listed.len());
        let may = driver.frozen().permissions.as_ref().is_some_and(|permissions| {
            permissions.grant(who, Permission::CanAccessPrivateMemories, "private") == Grant::Granted
        });
        listed.retain(|content| may || content.record.visibility == Visibility::Public);
        before - listed.len()
    }
}

const fn visible(visibility: Visibility) -> &'static str {
    match visibility {
        Visibility::Public => "public",
        Visibility::Private => "private",
    }
}

fn store(layout: &tripwire_workspace::geometry::layout::Layout) -> MemoryStore {
    MemoryStore::at(&layout.memory())
}

/// Reads a content, bounded.
fn read(file: &Path) -> Result<Vec<u8>, Problem> {
    let limit = u64::try_from(ENTRY_BYTES_MAX).unwrap_or(u64::MAX);
    bounded::read_whole(print::open(file)?, limit).map_err(|error| match error {
        BoundedError::Io(error) => Problem::input(file, error),
        // One byte more is all that was read.
        BoundedError::TooBig { .. } => MemoryError::TooLarge { bytes: ENTRY_BYTES_MAX + 1 }.into(),
    })
}

fn print(line: &str) -> Result<Exit, Problem> {
    let mut out = Out::lock();
    out.line(line)?;
    out.flush()?;
    Ok(Exit::Done)
}
