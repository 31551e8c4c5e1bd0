//! Services: clusters, clouds, containers with data, packages and repositories that others rely on.

mod clients;

use super::{storage, verbs};
use crate::hold::{GuardRule, Hold};
use crate::line::call::Call;
use crate::line::command;
use crate::site::Site;

/// Judges a call of a service's client by the words that its command begins with.
pub(super) fn judge(site: &Site<'_>, call: &Call) -> Option<Hold> {
    if call.is_dry_run() || command::asks_for_help(call) || storage::is_on_this_machine(site, call) {
        return None;
    }
    let words = command::words(call);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let kinds = [clusters, infrastructure, containers, clouds, hosting, stores, backups, listed];
    let reason = kinds.iter().find_map(|kind| kind(call, &words)).or_else(|| forge(site, call, &words))?;
    Some(Hold::plain(GuardRule::Service, reason))
}

const VOLUMES: &str = "it deletes volumes with the data in them";
const CLOUD: &str = "it deletes something in the cloud";
const PACKAGE: &str = "it removes a published package";

/// What the table says.
fn listed(call: &Call, words: &[&str]) -> Option<&'static str> {
    verbs::reason(clients::CLIENTS, &call.name(), words, call)
}

fn clusters(call: &Call, words: &[&str]) -> Option<&'static str> {
    Some(match (call.name().as_str(), words) {
        ("kubectl" | "oc", ["delete", rest @ ..]) => return resources(call, rest),
        ("kubectl" | "oc", ["replace", ..]) if call.has_any(&["--force"]) => {
            "it deletes and makes anew what a file describes"
        }
        ("kubectl" | "oc", ["apply", ..]) if call.has_any(&["--prune"]) => {
            "it deletes what a folder no longer describes"
        }
        ("kustomize" | "kapp" | "skaffold" | "tilt", ["delete" | "down", ..]) => {
            "it deletes what a project describes from a cluster"
        }
        ("helmfile" | "helmsman", ["destroy", ..]) => "it removes releases from a cluster",
        ("helm", ["uninstall" | "delete" | "del" | "un", ..]) => "it removes a release from a cluster",
        ("eksctl" | "kops", ["delete", "cluster" | "nodegroup" | "fargateprofile", ..])
        | ("kind", ["delete", "cluster" | "clusters", ..])
        | ("k3d", ["cluster", "delete", ..]) => "it deletes a cluster",
        // One by itself is made again in a minute.
        ("minikube", ["delete", ..]) if call.has_any(&["--all", "--purge"]) => "it deletes every cluster",
        _ => return None,
    })
}

/// `kubectl delete`: the first word names the kinds, unless every word is `kind/name`.
fn resources(call: &Call, rest: &[&str]) -> Option<&'static str> {
    let kinds = [
        "ns",
        "namespace",
        "namespaces",
        "project",
        "projects",
        "pv",
        "pvc",
        "persistentvolume",
        "persistentvolumes",
        "persistentvolumeclaim",
        "persistentvolumeclaims",
        "crd",
        "crds",
        "customresourcedefinition",
        "customresourcedefinitions",
        "node",
        "nodes",
        "statefulset",
        "statefulsets",
        "sts",
        "secret",
        "secrets",
    ];
    let slashed = rest.iter().filter_map(|word| word.split_once('/')).map(|(kind, _)| kind);
    let first = rest.first().copied().filter(|word| !word.contains('/')).unwrap_or_default();
    let named = first.split(',').chain(slashed).any(|word| kinds.contains(&word) || word == "all");
    let all = call.has_any(&["--all", "-A", "--all-namespaces"]);
    let described = call.has_any(&["-f", "--filename", "-k", "--kustomize", "-R", "--raw"])
        || call.words().iter().any(|word| word.starts_with("-f") || word.starts_with("-k"));
    if rest.first().is_some_and(|word| word.is_empty()) {
        return Some("it deletes from a cluster what cannot be known before it runs");
    }
    let reason = "it deletes a namespace, volumes, everything of a kind or all that a file describes from a cluster";
    (named || all || described).then_some(reason)
}

fn infrastructure(call: &Call, words: &[&str]) -> Option<&'static str> {
    let forgets = "it deletes what is known of the infrastructure, which nobody can put back";
    let destroys = "it destroys the infrastructure that a project describes";
    let name = call.name();
    let words = match (name.as_str(), words) {
        ("terragrunt", ["run-all" | "run", rest @ ..]) => rest,
        _ => words,
    };
    match (name.as_str(), words) {
        ("terraform" | "tofu" | "terragrunt", ["state", "rm" | "push", ..] | ["workspace", "delete", ..])
        | ("pulumi", ["state", "delete", ..] | ["stack", "rm" | "remove", ..]) => Some(forgets),
        ("terraform" | "tofu" | "terragrunt" | "cdk" | "cdktf", ["destroy" | "destroy-all", ..]) => Some(destroys),
        ("terraform" | "tofu" | "terragrunt", ["apply", ..]) => {
            call.has_any(&["-destroy", "--destroy", "-replace", "--replace"]).then_some(destroys)
        }
        ("pulumi", ["destroy" | "down" | "dn", ..]) => (!call.has_any(&["--preview-only"])).then_some(destroys),
        ("serverless" | "sls", ["remove", ..]) | ("sam", ["delete", ..]) | ("eb", ["terminate", ..]) => {
            Some("it removes a deployed stack")
        }
        ("podman", ["machine", "rm" | "reset", ..]) => Some("it deletes a machine with the data in it"),
        ("virsh", ["undefine", ..]) => {
            call.has_any(&["--remove-all-storage", "--storage"]).then_some("it deletes a machine with the data in it")
        }
        _ => None,
    }
}

fn containers(call: &Call, words: &[&str]) -> Option<&'static str> {
    let volumes = call.has_short(&['v']) || call.has_any(&["--volumes"]);
    let lost = match (call.name().as_str(), words) {
        ("docker" | "podman" | "nerdctl", ["system", "prune", ..]) => call.has_any(&["--volumes"]),
        ("docker" | "podman" | "nerdctl", ["system", "reset", ..] | ["volume", "rm" | "remove" | "prune", ..]) => true,
        ("docker" | "podman" | "nerdctl", ["compose", "down" | "rm", ..]) => volumes,
        ("docker-compose" | "podman-compose", ["down" | "rm", ..]) => volumes,
        _ => false,
    };
    lost.then_some(VOLUMES)
}

fn clouds(call: &Call, words: &[&str]) -> Option<&'static str> {
    let lost = match (call.name().as_str(), words) {
        ("aws", words) => amazon(words),
        // They know only this machine's settings.
        ("gcloud", ["config" | "auth" | "components", ..]) | ("az", ["config" | "cache" | "extension", ..]) => false,
        ("az", ["deployment", _, "create", ..] | ["deployment", "create", ..]) => {
            call.option(&["--mode"]).is_some_and(|mode| mode.text().eq_ignore_ascii_case("complete"))
        }
        // Objects and buckets have a rule of their own.
        ("gcloud" | "az", ["storage", ..] | ["alpha" | "beta", "storage", ..]) => false,
        ("gcloud" | "az" | "doctl" | "linode-cli" | "hcloud" | "ibmcloud" | "oci" | "scw" | "vultr-cli", words)
        | ("pscale" | "neonctl" | "atlas" | "confluent" | "render", words) => {
            let deletes = |word: &&str| matches!(*word, "delete" | "destroy" | "purge" | "terminate");
            // The group before it is not known: `gcloud $GROUP delete x`.
            words.first().is_some_and(deletes) || verb_of(words).as_ref().is_some_and(deletes)
        }
        _ => false,
    };
    lost.then_some(CLOUD)
}

/// The verb of a command that names groups first: `compute instances delete NAME`. What stands behind it is a name.
fn verb_of<'w>(words: &[&'w str]) -> Option<&'w str> {
    let verbs = [
        "delete",
        "destroy",
        "purge",
        "terminate",
        "list",
        "ls",
        "describe",
        "show",
        "get",
        "read",
        "tail",
        "cat",
        "view",
        "search",
        "query",
        "create",
        "update",
        "set",
        "add",
        "deploy",
        "apply",
        "submit",
        "import",
        "export",
        "copy",
        "cp",
        "mv",
        "move",
        "ssh",
        "scp",
        "exec",
        "invoke",
        "call",
        "connect",
        "attach",
        "detach",
        "start",
        "stop",
        "restart",
        "reset",
        "resize",
        "enable",
        "disable",
        "wait",
        "test",
        "login",
        "logout",
        "use",
        "activate",
        "save",
    ];
    let starts = ["list-", "get-", "describe-", "set-", "add-", "print-", "create-", "update-"];
    let is_verb = |word: &&str| verbs.contains(word) || starts.iter().any(|start| word.starts_with(start));
    words.iter().skip(1).copied().find(is_verb)
}

fn amazon(words: &[&str]) -> bool {
    let deletes = |operation: &str| {
        ["delete-", "terminate-", "purge-", "batch-delete-"].iter().any(|start| operation.starts_with(start))
    };
    match words {
        // The service before it is not known.
        [operation, ..] if deletes(operation) => true,
        [_, _, "help", ..] => false,
        // One thing by its full name.
        ["s3api", "delete-object", ..] | ["dynamodb", "delete-item", ..] | ["sqs", "delete-message", ..] => false,
        ["kms", "schedule-key-deletion", ..] | ["organizations", "close-account", ..] => true,
        ["ec2", "release-address" | "deregister-image", ..] => true,
        [_, operation, ..] => deletes(operation),
        _ => false,
    }
}

fn hosting(call: &Call, words: &[&str]) -> Option<&'static str> {
    let application = "it destroys an application or its data";
    let project = "it deletes a deployed project or its data";
    Some(match (call.name().as_str(), words) {
        ("heroku", [verb, ..]) if [":destroy", ":reset", ":delete"].iter().any(|end| verb.ends_with(end)) => {
            application
        }
        ("fly" | "flyctl", ["destroy", ..] | [_, "destroy", ..]) => application,
        ("fly" | "flyctl", ["apps" | "app" | "volumes" | "volume" | "vol" | "vols", verb, ..])
            if matches!(*verb, "delete" | "rm" | "remove") =>
        {
            application
        }
        ("heroku", ["pg:copy" | "pg:restore" | "pg:backups:restore", ..]) => "it puts other data over a database",
        (
            "vercel",
            ["remove" | "rm", ..] | ["project" | "projects" | "domains" | "dns" | "env", "remove" | "rm", ..],
        )
        | ("netlify", ["sites:delete", ..])
        | ("firebase", ["projects:delete" | "firestore:delete" | "database:remove" | "hosting:disable", ..])
        | ("wrangler", ["delete", ..] | ["d1" | "queues" | "kv:namespace", "delete", ..])
        | ("wrangler", ["kv", "namespace", "delete", ..] | ["pages", "project", "delete", ..]) => project,
        ("npm" | "pnpm" | "yarn", ["unpublish", ..]) | ("gem", ["yank", ..]) => PACKAGE,
        _ => return None,
    })
}

fn stores(call: &Call, words: &[&str]) -> Option<&'static str> {
    let keys = "it deletes many keys of a cluster";
    let secrets = "it deletes secrets of a vault";
    Some(match (call.name().as_str(), words) {
        ("etcdctl", ["del", ..]) if call.has_any(&["--prefix", "--from-key"]) => keys,
        ("consul", ["kv", "delete", ..]) if call.has_any(&["-recurse"]) => keys,
        ("vault", ["delete", ..] | [_, "delete" | "destroy", ..] | ["kv", "metadata", "delete", ..]) => secrets,
        ("vault", ["secrets" | "auth", "disable", ..]) => secrets,
        ("bq", ["rm", ..]) => "it deletes tables or a data set",
        ("turso", [_, "destroy", ..]) => "it destroys a database",
        ("nats", ["stream" | "str" | "kv" | "object" | "obj", "rm" | "purge" | "del" | "delete", ..]) => {
            "it deletes a stream with its messages"
        }
        (name, _) if name.starts_with("kafka-topics") && call.has_any(&["--delete"]) => {
            "it deletes a topic with its messages"
        }
        (name, _) if name.starts_with("kafka-delete-records") => "it deletes a topic's messages",
        (name, _) if name.starts_with("kafka-consumer-groups") && call.has_any(&["--delete", "--delete-offsets"]) => {
            "it deletes what consumers have read"
        }
        ("hdfs" | "hadoop", _) => return hadoop(call),
        _ => return None,
    })
}

/// `hdfs dfs -rm -r`: its verbs are written like options.
fn hadoop(call: &Call) -> Option<&'static str> {
    let removes = call.has_any(&["-rmr"]) || (call.has_any(&["-rm"]) && call.has_any(&["-r", "-R", "-rf"]));
    removes.then_some("it deletes folders of a store")
}

fn backups(call: &Call, words: &[&str]) -> Option<&'static str> {
    let deletes = match (call.name().as_str(), words) {
        ("restic", ["forget", ..]) => call.has_any(&["--prune"]),
        ("restic", ["prune", ..]) | ("borg", ["delete" | "prune", ..]) => true,
        _ => false,
    };
    (deletes && !call.has_short(&['n'])).then_some("it deletes backups")
}

fn forge(site: &Site<'_>, call: &Call, words: &[&str]) -> Option<&'static str> {
    if !matches!(call.name().as_str(), "gh" | "glab") {
        return None;
    }
    let method = call.option(&["-X", "--method"]).map(|field| field.text().to_uppercase());
    let lost = match (words, method.as_deref()) {
        (["repo" | "release" | "project" | "secret" | "gist", "delete" | "remove", ..], _) => true,
        (["api", "graphql", ..], _) => {
            let deleting = ["deleteRepository(", "deletePackageVersion(", "deleteIssue(", "deleteProjectV2("];
            call.words().iter().any(|word| deleting.iter().any(|name| word.contains(name)))
        }
        (["api", address, ..], Some("DELETE")) => !is_passing(site, address),
        (["api", address, ..], Some("PATCH" | "PUT" | "POST")) => {
            branch_of(address).is_some_and(|branch| site.world.facts.protects(branch))
                && call.words().iter().any(|word| word == "force=true")
        }
        _ => false,
    };
    lost.then_some("it deletes something at the forge that others rely on")
}

/// Things at a forge that anybody puts back with one click, and branches that nobody protects.
fn is_passing(site: &Site<'_>, address: &str) -> bool {
    let kinds = ["labels", "assignees", "reactions", "requested_reviewers", "subscription", "caches", "lock"];
    let branch = branch_of(address).is_some_and(|branch| !branch.is_empty() && !site.world.facts.protects(branch));
    address.contains("issues/") && address.split('/').any(|part| kinds.contains(&part))
        || address.split('/').any(|part| matches!(part, "requested_reviewers" | "caches" | "subscription"))
        || branch
}

/// The branch that an address of a forge's own interface names.
fn branch_of(address: &str) -> Option<&str> {
    address.split_once("git/refs/heads/").map(|(_, branch)| branch)
}
