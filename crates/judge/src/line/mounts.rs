//! A container that sees folders of the workspace: what it deletes there is deleted here, everything else is its own.

use super::call::{Call, Place};
use super::field::{Atom, Field};
use super::walk::Walker;
use std::path::{Path, PathBuf};

/// The folders of the workspace that a container sees, and where it works.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Mounts {
    /// The folder here and its name inside.
    binds: Vec<(PathBuf, String)>,
    /// The folder inside that its command starts in, where the line says so.
    folder: Option<PathBuf>,
}

/// What a container can do to this machine's files.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Seen {
    /// Nothing.
    Nothing,
    /// It sees folders of the workspace and no others.
    Workspace(Mounts),
    /// It sees something else, or what it sees cannot be known.
    Others,
}

/// What the options of `docker run` let a container see.
pub(super) fn seen(walker: &Walker<'_>, options: &Call) -> Seen {
    if options.has_any(&["--volumes-from"]) {
        return Seen::Others;
    }
    let mut mounts = Mounts::default();
    let given = options.options(&["-v", "--volume", "--mount"]);
    for field in &given {
        let Some(text) = field.known() else { return Seen::Others };
        let Some((from, inside)) = bind(&text) else { continue };
        // A name without a slash is a volume, which may hold anybody's data.
        let path = if from.starts_with(['/', '.']) { walker.state.absolute(from) } else { None };
        let real = path.map(|path| walker.world.real(&path, super::world::Last::Followed));
        match real.filter(|path| path.starts_with(walker.world.workspace())) {
            Some(path) => mounts.binds.push((path, inside.trim_end_matches('/').to_owned())),
            None => return Seen::Others,
        }
    }
    let folder = options.option(&["-w", "--workdir"]).and_then(|field| field.known());
    mounts.folder = folder.map(PathBuf::from).filter(|folder| folder.is_absolute());
    if mounts.binds.is_empty() { Seen::Nothing } else { Seen::Workspace(mounts) }
}

/// Both ends of a mount: `FROM:INSIDE[:…]` or `type=bind,source=FROM,target=INSIDE`; nothing for a folder of its own.
fn bind(text: &str) -> Option<(&str, &str)> {
    if !text.contains('=') {
        let (from, rest) = text.split_once(':')?;
        return Some((from, rest.split(':').next().unwrap_or(rest)));
    }
    let value = |names: &[&str]| {
        let parts = text.split(',').filter_map(|part| part.split_once('='));
        parts.filter(|(name, _)| names.contains(name)).map(|(_, value)| value).next()
    };
    if value(&["type"]) == Some("tmpfs") {
        return None;
    }
    Some((value(&["source", "src"]).unwrap_or_default(), value(&["target", "dst", "destination"]).unwrap_or_default()))
}

impl Mounts {
    /// The arguments of a deletion inside, as paths of this machine; `None` where that cannot be known.
    pub(super) fn outside(&self, targets: &[Field], cwd: Option<&Path>) -> Option<Vec<Field>> {
        let mut outside = Vec::new();
        for target in targets {
            if target.unknown().is_some() {
                return None;
            }
            let mut field = target.clone();
            if !target.text().starts_with('/') {
                let mut whole = Field::of(&format!("{}/", cwd?.display().to_string().trim_end_matches('/')));
                whole.atoms.extend(field.atoms);
                field = whole;
            }
            let text = field.text();
            if text.split('/').any(|part| part == "..") {
                return None;
            }
            for (path, inside) in &self.binds {
                outside.extend(of_bind(&field, &text, (path, inside)));
            }
        }
        Some(outside)
    }
}

/// What a path inside means for one mount: something in it, all of it, or nothing.
fn of_bind(field: &Field, text: &str, (path, inside): (&Path, &str)) -> Option<Field> {
    let here = Field::of(&path.display().to_string());
    let below = text.strip_prefix(inside).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    if below && first_glob(field).is_none_or(|at| at >= inside.len()) {
        let mut translated = here;
        translated.atoms.extend(field.without_prefix(inside.len()).atoms);
        return Some(translated);
    }
    // A folder above the mount, or a pattern that may mean one, takes all of it along.
    let plain = text.get(..first_glob(field).unwrap_or(text.len())).unwrap_or_default();
    let above = match first_glob(field) {
        Some(_) => inside.starts_with(plain),
        None => inside.strip_prefix(plain.trim_end_matches('/')).is_some_and(|rest| rest.starts_with('/')),
    };
    above.then_some(here)
}

/// Where in the text of a field its first pattern stands.
fn first_glob(field: &Field) -> Option<usize> {
    let mut at = 0;
    for atom in &field.atoms {
        match atom {
            Atom::Text(text) => at += text.len(),
            Atom::Glob(_) => return Some(at),
            Atom::Unknown(..) => {}
        }
    }
    None
}

impl Walker<'_> {
    /// Runs what stands behind `docker run`, in the container as far as this machine's files are concerned.
    pub(super) fn contained(
        &mut self,
        args: Vec<Field>,
        env: Vec<(String, Field)>,
        options: &Call,
    ) -> super::stream::Stream {
        let (place, mounts) = match seen(self, options) {
            Seen::Nothing => (Place::Container, Mounts::default()),
            Seen::Workspace(mounts) => (Place::Mounted, mounts),
            Seen::Others => (Place::Remote, Mounts::default()),
        };
        let inner = Call { args, env: [options.env.clone(), env].concat(), stdin: options.stdin.clone(), place };
        let cwds = std::mem::replace(&mut self.state.cwds, mounts.folder.iter().cloned().collect());
        let home = self.state.variables.remove("HOME");
        let outer = std::mem::replace(&mut self.state.mounts, mounts);
        let stream = self.invoke_program(&inner);
        self.state.mounts = outer;
        self.state.variables.extend(home.map(|home| ("HOME".to_owned(), home)));
        self.state.cwds = cwds;
        stream
    }
}
