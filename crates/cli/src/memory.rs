//! `tripwire memory`: originals kept whole, compressed forms that point to them, exact bytes back.

use crate::exit::Exit;
use crate::output::{self, Form as Printed, Out};
use crate::place::Where;
use crate::problem::Problem;
use clap::{Args, Subcommand, ValueEnum};
use serde_json::json;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use tripwire_host::memory::{ENTRY_BYTES_MAX, Form, Listed, MemoryError, MemoryStore, StoredAs, Visibility};

/// Keep contents on disk and get exactly the same bytes back.
#[derive(Debug, Args)]
pub(crate) struct MemoryArgs {
    #[command(subcommand)]
    act: Act,
}

#[derive(Debug, Subcommand)]
enum Act {
    /// Store a content and print its pointer.
    Put(PutArgs),
    /// Tie a compressed form to an original, or pack the original's bytes on disk.
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
    /// Only roles that may read private memories get it.
    #[arg(long)]
    private: bool,
    #[command(flatten)]
    place: Where,
    #[command(flatten)]
    form: Printed,
}

#[derive(Debug, Args)]
struct CompressArgs {
    /// The original, in full or by its first digits.
    pointer: String,
    /// The compressed form; `-` reads standard input. Without one the original is packed, and loses nothing.
    #[arg(requires = "form")]
    file: Option<PathBuf>,
    /// What kind of form it is.
    #[arg(long, value_name = "FORM", requires = "file")]
    form: Option<FormName>,
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
    place: Where,
    /// Write what is known about the content instead of its bytes.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct ListArgs {
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
        Act::Put(args) => put(args),
        Act::Compress(args) => compress(args),
        Act::Get(args) => get(args),
        Act::List(args) => list(args),
    }
}

fn put(args: &PutArgs) -> Result<Exit, Problem> {
    let bytes = read(&args.file)?;
    let visibility = if args.private { Visibility::Private } else { Visibility::Public };
    let pointer = store(args.place.open()?.layout()).put(&bytes, visibility)?;
    let line = match args.form.json {
        true => json!({"pointer": pointer, "bytes": bytes.len()}).to_string(),
        false => pointer.to_string(),
    };
    print(&line)
}

fn compress(args: &CompressArgs) -> Result<Exit, Problem> {
    let store = store(args.place.open()?.layout());
    let original = store.resolve(&args.pointer)?;
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
    let pointer = store.compress(&original, form.into(), &bytes)?;
    print(&match args.json {
        true => json!({"pointer": pointer, "original": original, "form": Form::from(form)}).to_string(),
        false => pointer.to_string(),
    })
}

fn get(args: &GetArgs) -> Result<Exit, Problem> {
    let store = store(args.place.look()?.layout());
    let pointer = store.resolve(&args.pointer)?;
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
    let listed = store(args.place.look()?.layout()).list()?;
    let mut out = Out::lock();
    for content in &listed {
        out.line(&if args.json { as_json(content) } else { in_words(content) })?;
    }
    if listed.is_empty() && !args.json {
        output::say("nothing is stored; put something with `tripwire memory put FILE`");
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
    let visibility = match record.visibility {
        Visibility::Public => "public",
        Visibility::Private => "private",
    };
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

fn store(layout: &tripwire_host::geometry::layout::Layout) -> MemoryStore {
    MemoryStore::at(&layout.memory())
}

/// Reads a content, bounded: one byte more than the store takes is enough to refuse it.
fn read(file: &Path) -> Result<Vec<u8>, Problem> {
    let limit = u64::try_from(ENTRY_BYTES_MAX).unwrap_or(u64::MAX);
    let mut bytes = Vec::new();
    output::open(file)?.take(limit + 1).read_to_end(&mut bytes).map_err(|error| Problem::open(file, error))?;
    if bytes.len() > ENTRY_BYTES_MAX {
        return Err(MemoryError::TooLarge { bytes: bytes.len() }.into());
    }
    Ok(bytes)
}

fn print(line: &str) -> Result<Exit, Problem> {
    let mut out = Out::lock();
    out.line(line)?;
    out.flush()?;
    Ok(Exit::Done)
}
