//! What lies below `clients` cannot ask its registry: these lists have an entry for each client.

use tripwire_clients::Client;
use tripwire_core::policy::Policy;

#[test]
fn the_sandbox_protects_the_folder_of_every_client() {
    for client in Client::ALL {
        let folder = client.home().folder;
        assert!(tripwire_sandbox::PROTECTED_NAMES.contains(&folder), "{folder} in crates/sandbox/src/spec.rs");
    }
}

#[test]
fn the_settings_of_every_client_are_part_of_the_identity() {
    let policy = Policy::default();
    for client in Client::ALL {
        let folder = format!("{}/", client.home().folder);
        let is_listed = policy.identity.client_files.iter().any(|file| file.starts_with(&folder));
        assert!(is_listed, "{folder} in `client_files`, crates/core/src/policy/settings.rs");
    }
}

#[test]
fn every_client_marks_the_commands_of_its_agent() {
    for client in Client::ALL {
        assert!(!client.adapter().launch.known_by.agent_variables.is_empty(), "{}", client.name());
    }
}
