//! Only a few crates open sockets, and only three of them wait for one asynchronously.
//!
//! A manifest does not show it, because the standard library has sockets too; so the sources are read. Naming a type is
//! free (an open socket may be passed on), opening one is not.

use syn::visit::{self, Visit};
use syn::{ExprPath, Item, Signature};

use super::finding::{Finding, Rule};
use super::rust::{SourceFile, is_test_only};
use super::workspace::Workspace;

/// Who may open a socket, and what for.
const MAY_OPEN: [(&str, &str); 8] = [
    ("crates/sandbox", "the bridge to the allow-list proxy, and its own pair with the inner stage"),
    ("crates/egress", "the allow-list proxy"),
    ("crates/gateway", "the proxy for model APIs"),
    ("crates/console", "the server of the local page"),
    ("crates/supervisor", "the socket through which hooks reach the supervisor"),
    ("crates/clients", "the scripted model with which a client is checked"),
    ("crates/agent", "the engines"),
    ("crates/fleet", "the connection to a cluster, and free ports for a development one"),
];

/// Who may have asynchronous functions.
const MAY_WAIT: [&str; 3] = ["crates/gateway", "crates/console", "crates/fleet"];

const SOCKET_TYPES: [&str; 6] = ["TcpListener", "TcpStream", "UdpSocket", "UnixDatagram", "UnixListener", "UnixStream"];

pub(crate) fn check(ws: &Workspace, findings: &mut Vec<Finding>) {
    for source in ws.production() {
        let may_open = MAY_OPEN.iter().any(|(folder, _)| *folder == source.package_folder());
        let mut calls = Calls { source, may_open, findings };
        calls.visit_file(&source.syntax);
    }
}

struct Calls<'a> {
    source: &'a SourceFile,
    may_open: bool,
    findings: &'a mut Vec<Finding>,
}

impl<'ast> Visit<'ast> for Calls<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        let in_tests = matches!(item, Item::Mod(module) if is_test_only(&module.attrs));
        if !in_tests {
            visit::visit_item(self, item);
        }
    }

    /// `TcpStream::connect`, `rustix::net::socket`: a function of the network as a value.
    fn visit_expr_path(&mut self, expression: &'ast ExprPath) {
        let names: Vec<String> = expression.path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        let opens = match names.as_slice() {
            [.., owner, _] if SOCKET_TYPES.contains(&owner.as_str()) => true,
            [.., owner, function] => owner == "net" && function == "socket",
            [] | [_] => false,
        };
        if opens && !self.may_open {
            self.findings.push(self.source.finding(
                syn::spanned::Spanned::span(&expression.path),
                Rule::CrateWall,
                format!("`{}` opens a socket; only the crates in xtask/src/tidy/sockets.rs may", names.join("::")),
            ));
        }
        visit::visit_expr_path(self, expression);
    }

    fn visit_signature(&mut self, signature: &'ast Signature) {
        if signature.asyncness.is_some() && !MAY_WAIT.contains(&self.source.package_folder()) {
            self.findings.push(self.source.finding(
                signature.ident.span(),
                Rule::CrateWall,
                format!("`{}` is asynchronous; only the gateway and the console have a runtime", signature.ident),
            ));
        }
        visit::visit_signature(self, signature);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{member_files, printed};
    use super::*;

    fn found(path: &str, text: &str) -> usize {
        printed(&member_files(&[(path, text)]), check).len()
    }

    #[test]
    fn a_socket_is_opened_only_where_the_table_says() {
        for call in
            ["TcpStream::connect(a)", "std::os::unix::net::UnixListener::bind(p)", "rustix::net::socket(a, b, c)"]
        {
            let text = format!("fn f() {{ {call}; }}\n");
            assert_eq!(found("crates/journal/src/lib.rs", &text), 1, "{call}");
            assert_eq!(found("crates/egress/src/lib.rs", &text), 0, "{call}");
            assert_eq!(found("crates/journal/tests/t.rs", &text), 0, "{call}");
            let inside_tests = format!("#[cfg(test)]\nmod tests {{ {text} }}\n");
            assert_eq!(found("crates/journal/src/lib.rs", &inside_tests), 0, "{call}");
        }
    }

    #[test]
    fn naming_a_socket_type_is_free() {
        assert_eq!(found("crates/session/src/lib.rs", "use std::net::IpAddr;\nfn f(l: UnixListener) {}\n"), 0);
    }

    #[test]
    fn an_asynchronous_function_is_found() {
        assert_eq!(found("crates/egress/src/lib.rs", "async fn f() {}\n"), 1);
        assert_eq!(found("crates/gateway/src/lib.rs", "async fn f() {}\n"), 0);
    }
}
