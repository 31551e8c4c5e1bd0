//! A container that sees folders of the workspace: what it deletes there is deleted here, everything else is its own.

use crate::line::field::{Atom, Field};
use std::path::{Path, PathBuf};

/// The folders of the workspace that a container sees, and where it works.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Mounts {
    pub(crate) binds: Vec<Bind>,
    /// The folder inside that its command starts in, where the line says so.
    pub(crate) folder: Option<PathBuf>,
}

/// A folder of this machine that a container sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bind {
    pub(crate) here: PathBuf,
    /// Its name inside, without a slash at its end.
    pub(crate) inside: String,
}

impl Mounts {
    /// The arguments of a deletion inside, as paths of this machine; `None` where that cannot be known.
    pub(crate) fn outside(&self, targets: &[Field], cwd: Option<&Path>) -> Option<Vec<Field>> {
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
            outside.extend(self.binds.iter().filter_map(|bind| of_bind(&field, &text, bind)));
        }
        Some(outside)
    }
}

/// What a path inside means for one mount: something in it, all of it, or nothing.
fn of_bind(field: &Field, text: &str, bind: &Bind) -> Option<Field> {
    let (here, inside) = (Field::of_path(&bind.here), bind.inside.as_str());
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
            Atom::StandIn(name) => at += name.text().len(),
            Atom::Unknown(..) => {}
        }
    }
    None
}
