//! Project chores as a library, so that `cargo test --workspace` holds the style and not only the person who remembers
//! to run `cargo xtask tidy`.

pub mod api;
pub mod dist;
pub mod docs;
pub mod loso;
pub mod mutants;
pub mod redaction;
pub mod reference;
pub mod robust;
pub mod tidy;
pub mod typescript;
