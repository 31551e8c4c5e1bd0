//! The table of a client's own files: where they are, what of them a confined run copies, and what comes back.

/// What a client has in folders of its own, and where.
#[derive(Debug)]
pub struct PrivateFiles {
    /// The folders, each named by a variable.
    pub roots: &'static [PrivateRoot],
    /// The file whose known fields come back; none where a confined run gets no login.
    pub credential: Option<CredentialFile>,
}

/// One folder of a client.
#[derive(Debug)]
pub struct PrivateRoot {
    /// The variable that names it.
    pub variable: &'static str,
    /// What it names without a value, below the person's home.
    pub below_home: &'static str,
    /// The client's folder in it; empty if it is that itself.
    pub folder: &'static str,
    /// Files of the home itself that lie in the folder once the variable is set.
    pub beside: &'static [&'static str],
    /// What is copied for each run, as far as it is there.
    pub copied: &'static [&'static str],
    /// What a run leaves in the copy for the next one.
    pub kept: &'static [&'static str],
}

/// Where a client keeps what it logs in with.
#[derive(Debug)]
pub struct CredentialFile {
    /// Its name in the folder.
    pub name: &'static str,
    /// The fields that a renewal changes, each as a path of members; `*` stands for any member that was there.
    pub fields: &'static [&'static [&'static str]],
    /// The hosts that renew it.
    pub hosts: &'static [&'static str],
}
