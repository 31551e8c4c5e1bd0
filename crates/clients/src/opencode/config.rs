//! The configuration of opencode, as far as it says where the chosen model is.

use crate::install::change::read_settings;
use crate::launch::prepare::{LaunchError, LaunchPlace};
use crate::launch::relaxed;
use serde_json::{Map, Value};
use std::path::PathBuf;

/// Its name for people.
pub(super) const TITLE: &str = "opencode";

/// The variable that holds a configuration, which counts more than any file.
pub(super) const CONTENT: &str = "OPENCODE_CONFIG_CONTENT";

/// The names of its file.
pub(super) const FILES: [&str; 3] = ["config.json", "opencode.json", "opencode.jsonc"];

/// What it reads, the strongest last.
pub(super) struct OpencodeConfig {
    layers: Vec<Map<String, Value>>,
    /// The configuration in the person's variable.
    pub(super) content: Map<String, Value>,
}

impl OpencodeConfig {
    pub(super) fn read(place: &LaunchPlace<'_>) -> Result<Self, LaunchError> {
        let home = place.variable_text("HOME").map(PathBuf::from);
        let config = place.variable_text("XDG_CONFIG_HOME").map(PathBuf::from).or_else(|| Some(home?.join(".config")));
        let in_folder = |folder: PathBuf| FILES.map(|name| folder.join(name));
        let mut files: Vec<PathBuf> =
            config.into_iter().flat_map(|folder| in_folder(folder.join("opencode"))).collect();
        files.extend(place.variable_text("OPENCODE_CONFIG").map(|file| place.cwd.join(file)));
        let above = place.cwd.ancestors().take_while(|folder| folder.starts_with(place.root));
        let mut projects: Vec<PathBuf> = above.flat_map(|folder| in_folder(folder.to_owned())).collect();
        projects.reverse();
        files.extend(projects);
        let own = [place.root, place.cwd].map(|folder| folder.join(".opencode")).into_iter();
        let own = own.chain(place.variable_text("OPENCODE_CONFIG_DIR").map(PathBuf::from));
        files.extend(own.flat_map(in_folder));
        let mut layers = Vec::new();
        for file in files {
            let Some(text) = read_settings(&file) else { continue };
            let problem = |problem| LaunchError::Settings { client: TITLE, path: file.clone(), problem };
            layers.push(relaxed::object(&text).map_err(problem)?);
        }
        let content = place.variable_text(CONTENT).unwrap_or_default();
        let problem = |problem| LaunchError::Settings { client: TITLE, path: PathBuf::from(CONTENT), problem };
        let content = relaxed::object(&content).map_err(problem)?;
        layers.push(content.clone());
        Ok(Self { layers, content })
    }

    /// A text of the configuration; the strongest layer that has it counts.
    pub(super) fn text(&self, path: &[&str]) -> Option<String> {
        self.layers.iter().rev().find_map(|layer| {
            let (first, rest) = path.split_first()?;
            let found = rest.iter().try_fold(layer.get(*first)?, |value, name| value.get(*name))?;
            found.as_str().map(str::to_owned)
        })
    }

    /// The servers that all layers name together: the members that lead to each below `mcp`, and what it says.
    pub(super) fn servers(&self) -> Vec<(Vec<String>, Map<String, Value>)> {
        const NESTED: &str = "servers";
        let mut found: Vec<(Vec<String>, Map<String, Value>)> = Vec::new();
        let mut note =
            |path: Vec<String>, entry: &Map<String, Value>| match found.iter_mut().find(|(known, _)| *known == path) {
                Some((_, known)) => known.extend(entry.clone()),
                None => found.push((path, entry.clone())),
            };
        let lists = self.layers.iter().filter_map(|layer| layer.get("mcp")?.as_object());
        for (name, entry) in lists.flatten().filter_map(|(name, entry)| Some((name, entry.as_object()?))) {
            let is_server = ["type", "command", "url", "enabled"].iter().any(|known| entry.contains_key(*known));
            if name == NESTED && !is_server {
                let inner = entry.iter().filter_map(|(name, entry)| Some((name, entry.as_object()?)));
                inner.for_each(|(name, entry)| note(vec![NESTED.to_owned(), name.clone()], entry));
            } else {
                note(vec![name.clone()], entry);
            }
        }
        found
    }
}
