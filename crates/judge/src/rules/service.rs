//! Services: clusters, clouds, containers with data, packages and repositories that others rely on.

use crate::hold::{GuardRule, Hold};
use crate::line::call::Call;

/// Judges a call of a service's client.
pub(super) fn judge(call: &Call) -> Option<Hold> {
    if call.is_dry_run() || call.asks_for_help() {
        return None;
    }
    let words = call.words();
    let plain: Vec<&str> = words.iter().map(String::as_str).filter(|word| !word.starts_with('-')).collect();
    if plain.first().is_some_and(|word| *word == "help") {
        return None;
    }
    let says = |wanted: &[&str]| plain.iter().any(|word| wanted.contains(word));
    let reason = match call.name().as_str() {
        "kubectl" | "oc" if says(&["delete"]) => cluster(call, &plain)?,
        "kubectl" | "oc" if says(&["replace"]) && call.has_any(&["--force"]) => {
            "it deletes and makes anew what a file describes"
        }
        "kubectl" | "oc" if says(&["apply"]) && call.has_any(&["--prune"]) => {
            "it deletes what a folder no longer describes"
        }
        "kustomize" | "kapp" | "skaffold" | "tilt" if says(&["delete", "down"]) => {
            "it deletes what a project describes from a cluster"
        }
        "helmfile" | "helmsman" if says(&["destroy"]) => "it removes releases from a cluster",
        "helm" if says(&["uninstall", "delete"]) => "it removes a release from a cluster",
        "terraform" | "tofu" | "terragrunt" | "pulumi" | "cdk" | "cdktf" => infrastructure(call, &plain)?,
        "serverless" | "sls" | "sam" if says(&["remove", "delete"]) => "it removes a deployed stack",
        "docker" | "podman" | "nerdctl" => containers(call, &plain)?,
        "docker-compose" if says(&["down", "rm"]) && (call.has_short(&['v']) || call.has_any(&["--volumes"])) => {
            VOLUMES
        }
        "aws" => amazon(&plain)?,
        "gcloud" | "az" | "doctl" | "linode-cli" | "hcloud" | "ibmcloud" | "oci"
            if says(&["delete", "destroy", "purge"]) =>
        {
            "it deletes something in the cloud"
        }
        "gh" | "glab" => forge(call, &plain)?,
        "heroku"
            if plain
                .iter()
                .any(|word| word.ends_with(":destroy") || word.ends_with(":reset") || word.ends_with(":delete")) =>
        {
            "it destroys an application or its data"
        }
        "fly" | "flyctl" if says(&["destroy"]) => "it destroys an application or its data",
        "vercel" | "netlify" | "firebase"
            if says(&["remove", "rm", "sites:delete", "projects:delete", "firestore:delete", "hosting:disable"]) =>
        {
            "it deletes a deployed project or its data"
        }
        "npm" | "pnpm" | "yarn" if says(&["unpublish"]) => "it removes a published package",
        "gem" if says(&["yank"]) => "it removes a published package",
        "etcdctl" if says(&["del"]) && call.has_any(&["--prefix", "--from-key"]) => "it deletes many keys of a cluster",
        "consul" if says(&["delete"]) && call.has_any(&["-recurse"]) => "it deletes many keys of a cluster",
        "vault" if says(&["delete", "destroy"]) => "it deletes secrets of a vault",
        "vault" if says(&["disable"]) && says(&["secrets", "auth"]) => "it deletes secrets of a vault",
        "bq" if says(&["rm"]) => "it deletes tables or a data set",
        "turso" if says(&["destroy"]) => "it destroys a database",
        "eksctl" | "kops" | "k3d" if says(&["delete"]) && says(&["cluster", "nodegroup", "fargateprofile"]) => {
            "it deletes a cluster"
        }
        name if name.starts_with("kafka-topics") && call.has_any(&["--delete"]) => {
            "it deletes a topic with its messages"
        }
        "restic" if says(&["forget"]) && call.has_any(&["--prune"]) => "it deletes backups",
        "borg" if says(&["delete", "prune"]) => "it deletes backups",
        _ => return None,
    };
    Some(Hold::plain(GuardRule::Service, reason))
}

const VOLUMES: &str = "it deletes volumes with the data in them";

fn cluster(call: &Call, plain: &[&str]) -> Option<&'static str> {
    let kinds = [
        "ns",
        "namespace",
        "namespaces",
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
    let named = plain.iter().flat_map(|word| word.split([',', '/'])).any(|word| kinds.contains(&word));
    let all = call.has_any(&["--all", "-A", "--all-namespaces"]) || plain.contains(&"all");
    let described = call.has_any(&["-f", "--filename", "-k", "--kustomize", "-R"])
        || call.words().iter().any(|word| word.starts_with("-f") || word.starts_with("-k"));
    let reason = "it deletes a namespace, volumes, everything of a kind or all that a file describes from a cluster";
    (named || all || described).then_some(reason)
}

fn infrastructure(call: &Call, plain: &[&str]) -> Option<&'static str> {
    let destroys = plain.contains(&"destroy") || (plain.contains(&"apply") && call.has_any(&["-destroy", "--destroy"]));
    let plans = plain.contains(&"plan") || plain.contains(&"preview");
    let forgets = match plain {
        ["state", "rm" | "push", ..] | ["workspace", "delete", ..] => true,
        ["state", "delete", ..] | ["stack", "rm" | "remove", ..] => true,
        _ => plain.windows(2).any(|pair| pair == ["state", "rm"]),
    };
    if forgets {
        return Some("it deletes what is known of the infrastructure, which nobody can put back");
    }
    (destroys && !plans).then_some("it destroys the infrastructure that a project describes")
}

fn containers(call: &Call, plain: &[&str]) -> Option<&'static str> {
    let volumes = call.has_short(&['v']) || call.has_any(&["--volumes"]);
    let lost = match plain {
        ["system", "prune", ..] => call.has_any(&["--volumes"]),
        ["system", "reset", ..] => true,
        ["volume", "rm" | "remove" | "prune", ..] => true,
        words if words.contains(&"compose") && words.contains(&"down") => volumes,
        words if words.contains(&"compose") && words.contains(&"rm") => volumes,
        _ => false,
    };
    lost.then_some(VOLUMES)
}

fn amazon(plain: &[&str]) -> Option<&'static str> {
    let deletes = |verb: &&str| ["delete-", "terminate-", "purge-"].iter().any(|start| verb.starts_with(start));
    let lost = plain.windows(2).any(|pair| match pair {
        [_, verb] => deletes(verb),
        _ => false,
    });
    lost.then_some("it deletes something in the cloud")
}

fn forge(call: &Call, plain: &[&str]) -> Option<&'static str> {
    let method = call.option(&["-X", "--method"]).map(|field| field.text().to_uppercase());
    let lost = match plain {
        ["repo" | "release" | "project" | "secret" | "gist", "delete" | "remove", ..] => true,
        ["repo", "archive" | "rename", ..] => false,
        ["api", ..] => match method.as_deref() {
            Some("DELETE") => !plain.iter().any(|word| is_passing(word)),
            Some("PATCH" | "PUT" | "POST") => rewrites_branch(&call.words()),
            Some(_) | None => false,
        },
        _ => false,
    };
    lost.then_some("it deletes something at the forge that others rely on")
}

/// Things at a forge that anybody puts back with one click.
fn is_passing(address: &str) -> bool {
    let kinds = ["labels", "assignees", "reactions", "requested_reviewers", "subscription", "caches", "lock"];
    address.contains("issues/") && address.split('/').any(|part| kinds.contains(&part))
        || address.split('/').any(|part| matches!(part, "requested_reviewers" | "caches" | "subscription"))
}

/// A protected branch that is moved by force through the forge's own interface.
fn rewrites_branch(words: &[String]) -> bool {
    let branch = |word: &String| {
        let name = word.split_once("git/refs/heads/").map(|(_, name)| name).unwrap_or_default().to_owned();
        matches!(name.as_str(), "main" | "master") || name.starts_with("release/")
    };
    words.iter().any(branch) && words.iter().any(|word| word == "force=true")
}
