//! The address of a tool server, shown without what may be secret in it.

use crate::limits::{ANSWERS_WITHIN, SERVER_REUSED_WITHIN};
use crate::upstream::{Destination, host_of};
use hyper::Uri;
use std::borrow::Cow;
use tripwire_core::explain::{ExitClass, Explain};

/// The address of a tool server.
#[derive(Debug, Clone)]
pub struct ToolServerUrl {
    base: Uri,
    path: String,
    pub(super) query: Option<String>,
}

/// An address that is none of a tool server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{shown}` is not an address of a tool server: {why}")]
pub struct UrlError {
    shown: String,
    why: &'static str,
}

impl Explain for UrlError {
    fn hint(&self) -> Cow<'_, str> {
        "write `https://HOST/PATH`, and a password or token as a header".into()
    }

    fn exit_class(&self) -> ExitClass {
        ExitClass::BadInput
    }
}

impl ToolServerUrl {
    /// Reads an address such as `https://tools.example/mcp`.
    ///
    /// # Errors
    /// When it is none, or carries a password.
    pub fn parse(text: &str) -> Result<Self, UrlError> {
        let wrong = |why| UrlError { shown: without_password(text), why };
        let base: Uri = text.parse().map_err(|_| wrong("write `https://HOST/PATH`"))?;
        if !matches!(base.scheme_str(), Some("http" | "https")) || base.host().is_none_or(str::is_empty) {
            return Err(wrong("write `https://HOST/PATH`"));
        }
        if base.authority().is_some_and(|authority| authority.as_str().contains('@')) {
            return Err(wrong("a password belongs into the client's `Authorization` header"));
        }
        let path = base.path().to_owned();
        let query = base.query().map(ToOwned::to_owned);
        Ok(Self { base, path, query })
    }

    /// Where requests to it go: a tool may work for hours, and clients have bounds of their own.
    pub(super) fn destination(&self) -> Destination<'_> {
        let (answers_within, reused_within) = (ANSWERS_WITHIN, SERVER_REUSED_WITHIN);
        Destination { base: &self.base, ca_file: None, answers_within, reused_within }
    }

    /// The address without its query, which may hold a key: what it is known and shown by.
    #[must_use]
    pub fn shown(&self) -> String {
        format!("{}://{}{}", self.base.scheme_str().unwrap_or_default(), self.host(), self.path)
    }

    /// The whole of it, with a query that may hold a key: for the one who asks there, and for nobody to see.
    #[must_use]
    pub fn text(&self) -> String {
        self.base.to_string()
    }

    /// Its host, with the port where it has one.
    #[must_use]
    pub fn host(&self) -> &str {
        host_of(&self.base)
    }

    /// Its path, which is ours too.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }
}

fn without_password(text: &str) -> String {
    let plain = text.split_once('?').map_or(text, |(before, _)| before);
    match (plain.split_once("://"), plain.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, host))) => format!("{scheme}://…@{host}"),
        (Some(_) | None, None) | (None, Some(_)) => plain.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mcp_5_an_address_is_shown_without_what_may_be_secret() {
        let url = ToolServerUrl::parse("https://tools.example:8443/a/mcp?key=s3cret").unwrap();
        assert_eq!((url.shown().as_str(), url.path()), ("https://tools.example:8443/a/mcp", "/a/mcp"));
        assert_eq!(ToolServerUrl::parse("http://127.0.0.1:1").unwrap().path(), "/");
        for wrong in ["ftp://x/", "tools.example/mcp", "", "https://", "https://me:s3cret@tools.example/mcp"] {
            let error = ToolServerUrl::parse(wrong).unwrap_err().to_string();
            assert!(!error.contains("s3cret"), "{error}");
        }
    }
}
