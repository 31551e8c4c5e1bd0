//! What kinds of things permissions are about, and how their names lie below each other.

use tripwire_core::input::Permission;

/// What kind of thing a permission is about, and how names of that kind lie below each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A tool; `mcp__github` is above `mcp__github__push`.
    Tool,
    /// A path relative to the workspace; `.` is above all of them.
    Path,
    /// `public` or `private`.
    Memory,
    /// A host; `example.com` is above `api.example.com`.
    Host,
    /// The workspace as a whole.
    Workspace,
}

impl Kind {
    /// The kind that a permission is about.
    pub(super) const fn of(permission: Permission) -> Self {
        match permission {
            Permission::CanExecuteTasks => Self::Tool,
            Permission::CanEditSource | Permission::Write | Permission::Read => Self::Path,
            Permission::CanAccessPrivateMemories | Permission::CanWriteMemories => Self::Memory,
            Permission::ContinueAfterConvergence | Permission::ControlTheGuard => Self::Workspace,
            Permission::Reach => Self::Host,
        }
    }

    /// The type of its resources in policies.
    pub(super) const fn entity(self) -> &'static str {
        match self {
            Self::Tool => "Tool",
            Self::Path => "Path",
            Self::Memory => "Memory",
            Self::Host => "Host",
            Self::Workspace => "Workspace",
        }
    }

    /// The one spelling of a name, so that `./src/` and `src` are the same.
    pub(super) fn normal(self, name: &str) -> String {
        match self {
            Self::Tool | Self::Memory | Self::Workspace => name.to_owned(),
            Self::Host => name.trim_end_matches('.').to_ascii_lowercase(),
            Self::Path => normal_path(name),
        }
    }

    /// The names above one, nearest first.
    pub(super) fn above(self, name: &str) -> Box<dyn Iterator<Item = &str> + '_> {
        match self {
            Self::Memory | Self::Workspace => Box::new(std::iter::empty()),
            Self::Tool => Box::new(cut_from_the_end(name, "__")),
            Self::Host => {
                Box::new(std::iter::successors(Some(name), |name| name.split_once('.').map(|(_, up)| up)).skip(1))
            }
            Self::Path if name == "." || name == "/" => Box::new(std::iter::empty()),
            Self::Path if name.starts_with('/') => {
                Box::new(cut_from_the_end(name, "/").filter(|up| !up.is_empty()).chain(["/"]))
            }
            // A path that leads out of the workspace is below nothing in it.
            Self::Path if name == ".." || name.starts_with("../") => Box::new(std::iter::empty()),
            Self::Path => Box::new(cut_from_the_end(name, "/").chain(["."])),
        }
    }
}

fn cut_from_the_end<'a>(name: &'a str, separator: &'static str) -> impl Iterator<Item = &'a str> {
    std::iter::successors(Some(name), move |name| name.rsplit_once(separator).map(|(up, _)| up)).skip(1)
}

/// A path without `.`, doubled slashes and `..` where that is known; nothing at all is the workspace itself.
fn normal_path(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/').filter(|part| !part.is_empty() && *part != ".") {
        match (part, parts.last()) {
            ("..", Some(last)) if *last != ".." => drop(parts.pop()),
            ("..", None) if path.starts_with('/') => {}
            (_, _) => parts.push(part),
        }
    }
    let joined = parts.join("/");
    match (path.starts_with('/'), joined.is_empty()) {
        (true, _) => format!("/{joined}"),
        (false, true) => ".".to_owned(),
        (false, false) => joined,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_one_spelling_and_the_nearest_above_comes_first() {
        let above = |kind: Kind, name: &str| kind.above(name).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(above(Kind::Path, "a/b/c"), ["a/b", "a", "."]);
        assert_eq!(above(Kind::Path, "/etc/x"), ["/etc", "/"]);
        assert_eq!(above(Kind::Path, "."), Vec::<String>::new());
        assert_eq!(above(Kind::Path, "../x"), Vec::<String>::new(), "outside is not below the workspace");
        assert_eq!(above(Kind::Host, "api.example.com"), ["example.com", "com"]);
        assert_eq!(above(Kind::Tool, "mcp__github__push"), ["mcp__github", "mcp"]);
        for (given, normal) in [
            ("./a//b/", "a/b"),
            ("", "."),
            ("a/../b", "b"),
            ("a/../../b", "../b"),
            ("/..//x", "/x"),
            ("../..", "../.."),
        ] {
            assert_eq!(Kind::Path.normal(given), normal, "{given}");
        }
        assert_eq!(Kind::Host.normal("API.Example.com."), "api.example.com");
    }
}
