//! Requests over HTTP: deleting at a store of data, and posting where others read it.

use super::publish;
use crate::hold::{GuardRule, Hold};
use crate::line::address::Address;
use crate::line::call::Call;
use crate::site::Site;

/// Hosts that keep data or run something for others; a dot before the name means what is below it.
const STORES: [&str; 42] = [
    ".amazonaws.com",
    ".googleapis.com",
    ".windows.net",
    "management.azure.com",
    ".azure.com",
    ".digitaloceanspaces.com",
    "api.digitalocean.com",
    ".r2.cloudflarestorage.com",
    "api.cloudflare.com",
    ".backblazeb2.com",
    ".wasabisys.com",
    ".aliyuncs.com",
    ".myqcloud.com",
    "api.github.com",
    "gitlab.com",
    "api.bitbucket.org",
    "api.heroku.com",
    "api.vercel.com",
    "api.netlify.com",
    "api.render.com",
    "api.fly.io",
    "api.machines.dev",
    "api.hetzner.cloud",
    "api.linode.com",
    "api.vultr.com",
    ".firebaseio.com",
    ".firebasedatabase.app",
    ".supabase.co",
    ".elastic-cloud.com",
    ".es.io",
    ".found.io",
    ".mongodb-api.com",
    "cloud.mongodb.com",
    ".qdrant.io",
    ".pinecone.io",
    ".weaviate.network",
    ".algolia.net",
    ".upstash.io",
    "registry.npmjs.org",
    "hub.docker.com",
    "registry.hub.docker.com",
    "api.neon.tech",
];
/// Ports on which stores of data listen: Elasticsearch, CouchDB, InfluxDB, Qdrant, Consul, Vault, etcd, Meilisearch, Solr,
/// ArangoDB, Neo4j, Typesense, RavenDB, the interface of Kubernetes, MinIO's and the registry's.
const PORTS: [u16; 17] =
    [9200, 9201, 5984, 8086, 6333, 8500, 8200, 2379, 7700, 8983, 8529, 7474, 8108, 8091, 6443, 9001, 19530];
/// Ends of addresses that delete though the request is no DELETE.
const DELETING: [&str; 6] =
    ["_delete_by_query", "/api/v2/delete", "/points/delete", "/delete-batch", "/flushall", "/_bulk_delete"];

/// Judges a request over HTTP.
pub(super) fn judge(site: &Site<'_>, call: &Call) -> Option<Hold> {
    let (method, addresses) = request(call)?;
    if method != "DELETE" {
        let deleting = |address: &&Address| is_store(address) && DELETING.iter().any(|end| address.path.contains(end));
        if let Some(address) = addresses.iter().find(deleting).filter(|_| method != "GET" && method != "HEAD") {
            return Some(held(address));
        }
        return publish::posted(site, &method, &addresses);
    }
    addresses.iter().find(|address| is_store(address) && !is_passing(address)).map(held)
}

fn held(address: &Address) -> Hold {
    let reason = format!("it deletes `{}` at `{}`, a store that keeps no copy", address.path, address.host);
    Hold::plain(GuardRule::Service, &reason)
}

/// The method of a request and where it goes.
fn request(call: &Call) -> Option<(String, Vec<Address>)> {
    let words = call.words();
    let named = |options: &[&str]| call.option(options).map(|field| field.text().to_uppercase());
    let body = |options: &[&str]| call.has_any(options) || call.option(options).is_some();
    let method = match call.name().as_str() {
        "curl" | "curlie" => named(&["-X", "--request"]).unwrap_or_else(|| {
            let data = ["-d", "--data", "--data-raw", "--data-binary", "--data-urlencode", "--json", "-F", "--form"];
            let sends = body(&data) && !call.has_short(&['G']) && !call.has_any(&["--get"]);
            let uploads = body(&["-T", "--upload-file"]);
            match (uploads, sends) {
                (true, _) => "PUT",
                (false, true) => "POST",
                (false, false) => "GET",
            }
            .to_owned()
        }),
        "wget" => named(&["--method"]).unwrap_or_else(|| {
            let sends = call.has_any(&["--post-data", "--post-file", "--body-data"]);
            if sends { "POST" } else { "GET" }.to_owned()
        }),
        "http" | "https" | "xh" | "xhs" => {
            let methods = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];
            let first = words.iter().map(|word| word.to_uppercase()).find(|word| methods.contains(&word.as_str()));
            let sends = words.iter().any(|word| word.contains('=') && !word.contains("==") && !word.contains('/'));
            first.unwrap_or_else(|| if sends { "POST" } else { "GET" }.to_owned())
        }
        _ => return None,
    };
    let url = call.options(&["--url"]);
    let operands = call.operands().into_iter().cloned();
    // The words behind options are looked at too: only what reads like an address is one.
    let addresses = operands.chain(url).filter_map(|field| Address::of(&field.text())).collect();
    Some((method, addresses))
}

/// Whether data is kept there.
fn is_store(address: &Address) -> bool {
    let known = STORES.iter().any(|store| match store.strip_prefix('.') {
        Some(parent) => address.host.ends_with(store) || address.host == parent,
        None => address.host == *store,
    });
    known || address.port.is_some_and(|port| PORTS.contains(&port))
}

/// Things that anybody puts back with one request, and searches that end.
fn is_passing(address: &Address) -> bool {
    let parts: Vec<&str> = address.path.split(['/', '?']).collect();
    let kinds = [
        "labels",
        "assignees",
        "reactions",
        "requested_reviewers",
        "subscription",
        "caches",
        "lock",
        "_search",
        "_pit",
    ];
    parts.iter().any(|part| kinds.contains(part))
}
