//! Where a call is judged: the world as it is, and what the line has done to it so far.

use crate::line::field::Field;
use crate::line::state::State;
use crate::line::stream::{Paths, Stream};
use crate::losses::is_secret;
use crate::world::{Spot, World, Zone};
use std::path::{Path, PathBuf};

/// The facts that rules judge a call by.
#[derive(Clone, Copy)]
pub(crate) struct Site<'s> {
    pub(crate) world: &'s World,
    pub(crate) state: &'s State,
}

impl Site<'_> {
    /// What a file holds: what the line wrote there, or what is on the disk, if it is short.
    pub(crate) fn contents(&self, path: &Path) -> Stream {
        match self.state.files.get(path) {
            Some(stream) => stream.clone(),
            None => self.world.short_text(path).map_or(Stream::Unknown, Stream::Known),
        }
    }

    /// What the line wrote to a file, or the names that one on the disk lists, one a line. A file of which no line is the
    /// name of something is no list, and what it holds is nobody's business here.
    pub(crate) fn listed_in(&self, path: &Path) -> Stream {
        if let Some(stream) = self.state.files.get(path) {
            return stream.clone();
        }
        let near = matches!(self.world.zone(path), Zone::Inside | Zone::Temporary) && !is_secret(path);
        let Some(text) = self.world.short_text(path).filter(|_| near) else { return Stream::Unknown };
        let lines: Vec<String> = text.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned).collect();
        let is_there = |line: &String| self.state.absolute(line).is_some_and(|path| path.symlink_metadata().is_ok());
        if lines.iter().any(is_there) { Stream::Paths(Paths(lines)) } else { Stream::Unknown }
    }

    /// The files and folders that a word plainly names.
    pub(crate) fn paths_of(&self, field: &Field) -> Vec<PathBuf> {
        let path = |spot| match spot {
            Spot::Path(path) => Some(path),
            Spot::Contents(_) | Spot::Unknown(..) => None,
        };
        self.world.spots(field, self.state.cwd()).into_iter().filter_map(path).collect()
    }

    /// Every folder that the call may run in; one that is not known, where none is.
    pub(crate) fn folders(&self) -> Vec<Option<PathBuf>> {
        match self.state.cwds.as_slice() {
            [] => vec![None],
            cwds => cwds.iter().cloned().map(Some).collect(),
        }
    }
}
