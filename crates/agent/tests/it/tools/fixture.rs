//! A workspace with everything that a tool needs, and a gate that makes its permits.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::Instant;
use tempfile::TempDir;
use tripwire_agent::tools::{Limits, Memories, Ran, Registry, World, decode, run};
use tripwire_core::chain::Chain;
use tripwire_core::chain::event::Action;
use tripwire_core::chain::gate::Permit;
use tripwire_core::input::{Authority, Grant, Input, Permission, Request, What};
use tripwire_core::label::Label;
use tripwire_core::policy::Policy;
use tripwire_core::run::record::Call;
use tripwire_core::units::RunMillis;
use tripwire_session::execution::sandboxed::{Confinement, SandboxedExecutor};
use tripwire_session::files::Files;
use tripwire_session::memory::MemoryStore;

pub(crate) struct Fixture {
    _folder: TempDir,
    root: PathBuf,
    pub(crate) files: Files,
    pub(crate) memory: MemoryStore,
    pub(crate) registry: Registry,
    pub(crate) memories: Memories,
    pub(crate) deadline: Option<Instant>,
    executor: SandboxedExecutor,
}

/// A workspace with the given files.
pub(crate) fn fixture(files: &[(&str, &str)]) -> Fixture {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap().join("work");
    std::fs::create_dir_all(root.join(".geometry")).unwrap();
    for (path, text) in files {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    Fixture {
        files: Files::of(&root, &root.join(".geometry")).unwrap(),
        memory: MemoryStore::at(&root.join(".geometry/memory")),
        registry: Registry::new().unwrap(),
        memories: Memories::Public,
        deadline: None,
        executor: SandboxedExecutor::new(Confinement::of(root.clone())),
        root,
        _folder: folder,
    }
}

/// A call as a model would make it.
pub(crate) fn call(tool: &str, arguments: &Value) -> Call {
    Call { id: "call-1".into(), tool: tool.into(), arguments: arguments.to_string().into() }
}

/// The gate's permit for an action.
pub(crate) fn permit(action: &Action) -> Permit {
    let authority = Authority {
        grant: Grant::Granted,
        identity: None,
        permission: Permission::CanExecuteTasks,
        role: Label::cut("developer"),
    };
    let request = Request {
        action: action.clone(),
        authority: Some(authority),
        floor: None,
        proposal: None,
        reserve_micro_usd: None,
        agent_id: None,
        starts_agent: None,
        running: None,
    };
    Chain::new(Policy::default())
        .unwrap()
        .step(&Input { at: RunMillis::ZERO, what: What::Request(request) })
        .permit
        .unwrap()
}

impl Fixture {
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn text(&self, path: &str) -> String {
        std::fs::read_to_string(self.root.join(path)).unwrap()
    }

    /// Decodes, gets the permit and runs.
    pub(crate) fn run(&mut self, tool: &str, arguments: &Value) -> Ran {
        let decoded = decode(&call(tool, arguments), self.registry.entries()).unwrap_or_else(|fault| panic!("{fault}"));
        let action = decoded.action(&self.files);
        self.run_with_permit_for(&action, tool, arguments)
    }

    /// Runs with a permit for this action, which may be another one.
    pub(crate) fn run_with_permit_for(&mut self, action: &Action, tool: &str, arguments: &Value) -> Ran {
        let decoded = decode(&call(tool, arguments), self.registry.entries()).unwrap();
        let limits = Limits::of(&Policy::default());
        let mut world = World::new(&self.files, &self.memory, &mut self.executor, limits);
        world.memories = self.memories;
        world.deadline = self.deadline;
        run(permit(action), &decoded, &mut world)
    }

    /// The result of a call that must succeed.
    pub(crate) fn ok(&mut self, tool: &str, arguments: &Value) -> Value {
        let ran = self.run(tool, arguments);
        assert!(!ran.is_error, "{}", ran.text);
        serde_json::from_str(&ran.text).unwrap()
    }

    /// The error of a call that must fail.
    pub(crate) fn error(&mut self, tool: &str, arguments: &Value) -> String {
        let ran = self.run(tool, arguments);
        assert!(ran.is_error, "{}", ran.text);
        assert!(ran.text.starts_with("error: ") && ran.text.contains("\nhint: "), "{}", ran.text);
        assert!(!ran.text.contains(self.root.to_str().unwrap()), "paths are relative: {}", ran.text);
        ran.text
    }
}
