//! Clients of services whose command says by its first words alone that something is gone for good.

use crate::rules::verbs::{VerbLine, held};

const CLOUD: &str = "it deletes something in the cloud";
const APPLICATION: &str = "it deletes a deployed application or its data";
const MACHINE: &str = "it deletes a machine with the data in it";
const CLUSTER: &str = "it deletes things of a cluster, or the cluster itself";
const QUEUE: &str = "it deletes a queue, a topic or the messages in it";
const SECRET: &str = "it deletes a key or a secret that nobody can make again";
const PACKAGE: &str = "it removes a published package or image";
const FORGE: &str = "it deletes something at the forge that others rely on";
const FILES: &str = "it deletes files of a store";
const HISTORY: &str = "it deletes the records of past runs";

/// The table.
pub(super) const CLIENTS: &[VerbLine] = &[
    // Clouds and hosting.
    held(&["gcloud"], "firestore bulk-delete", CLOUD),
    held(&["gcloud"], "sql backups restore", "it puts an older state over a database"),
    held(&["pulumi"], "up|update", "it destroys parts of the infrastructure to make them anew")
        .with(&["--replace", "--target-replace"]),
    held(&["copilot"], "app|env|svc|job|pipeline|task delete", APPLICATION),
    held(&["amplify", "chalice"], "delete", APPLICATION),
    held(&["zappa"], "undeploy", APPLICATION),
    held(&["sst"], "remove", APPLICATION),
    held(&["vercel"], "blob store remove|rm", APPLICATION),
    held(&["supabase"], "projects|branches|functions|sso|domains delete|remove", APPLICATION),
    held(&["supabase"], "storage rm", FILES),
    held(&["supabase"], "stop", "it deletes the data of the local services").with(&["--no-backup"]),
    held(&["firebase"], "hosting:sites:delete|apphosting:backends:delete|firestore:databases:delete", APPLICATION),
    held(&["firebase"], "database:set|firestore:bulkdelete", "it replaces or deletes what a database holds"),
    held(&["doctl"], "registry repository|repositories delete-*", PACKAGE),
    held(&["doctl"], "registry garbage-collection start", PACKAGE),
    held(&["railway"], "volume|environment|service delete", APPLICATION),
    held(&["railway"], "delete", APPLICATION),
    held(&["wrangler"], "d1 time-travel restore", "it puts an older state over a database"),
    held(&["wrangler"], "vectorize|hyperdrive|workflows|secrets-store delete", APPLICATION),
    held(&["wrangler"], "kv bulk delete", "it deletes many keys"),
    held(&["neon", "neonctl"], "branches reset|restore", "it puts another state over a database"),
    held(&["neon"], "projects|branches|databases|roles delete", CLOUD),
    held(&["convex"], "import", "it replaces what a database holds").with(&["--replace", "--replace-all"]),
    held(&["ibmcloud"], "ks|oc cluster rm", CLUSTER),
    held(&["ibmcloud"], "resource service-instance-delete|group-delete", CLOUD),
    held(&["openstack"], "* delete|purge", CLOUD),
    held(&["openstack"], "volume snapshot|backup delete", CLOUD),
    held(&["exo"], "compute|dbaas|storage * delete|rm", CLOUD),
    held(&["civo"], "* remove|delete|rm", CLOUD),
    held(&["databricks"], "fs|workspace rm|delete|delete-dir", FILES).with(&["-r", "--recursive"]),
    held(&["databricks"], "* delete|permanent-delete|destroy", CLOUD),
    held(&["databricks"], "bundle destroy", APPLICATION),
    // Machines.
    held(&["vagrant"], "destroy", MACHINE),
    held(&["multipass"], "purge", MACHINE),
    held(&["multipass"], "delete", MACHINE).with(&["-p", "--purge", "--all"]),
    held(&["lxc", "incus"], "delete|rm", MACHINE),
    held(&["lxc", "incus"], "storage volume delete", MACHINE),
    held(&["lxc", "incus"], "storage|project delete", MACHINE),
    held(&["limactl", "colima", "orb", "orbctl", "tart", "prlctl"], "delete|rm|remove", MACHINE),
    held(&["limactl"], "factory-reset", MACHINE),
    held(&["virsh"], "vol-delete|vol-wipe|pool-delete|snapshot-delete", MACHINE),
    held(&["VBoxManage", "vboxmanage"], "unregistervm", MACHINE).with(&["--delete", "--delete-all"]),
    held(&["VBoxManage", "vboxmanage"], "closemedium", MACHINE).with(&["--delete"]),
    held(&["qm", "pct"], "destroy", MACHINE),
    held(&["wsl"], "", MACHINE).with(&["--unregister"]),
    // Clusters.
    held(&["docker", "podman"], "swarm leave", CLUSTER).with(&["--force", "-f"]),
    held(&["docker", "podman"], "secret rm|remove", SECRET),
    held(&["nomad"], "job stop", CLUSTER).with(&["-purge", "--purge"]),
    held(&["nomad"], "stop", CLUSTER).with(&["-purge", "--purge"]),
    held(&["nomad"], "namespace|volume|node-pool delete", CLUSTER),
    held(&["nomad"], "var purge", SECRET),
    held(&["argocd"], "app|appset|proj delete", CLUSTER),
    held(&["argocd"], "app sync", "it deletes what a project no longer describes").with(&["--prune"]),
    held(&["argocd"], "cluster rm", CLUSTER),
    held(&["argo"], "delete", CLUSTER).with(&["--all"]),
    held(&["flux"], "uninstall|delete", CLUSTER),
    held(&["velero"], "backup|schedule delete", "it deletes backups"),
    held(&["velero"], "delete backup|backups|schedule|schedules", "it deletes backups"),
    held(&["istioctl", "cilium"], "uninstall", CLUSTER),
    held(&["kubeadm", "talosctl", "k0s", "microk8s"], "reset", CLUSTER),
    held(&["k3s-uninstall.sh", "k3s-agent-uninstall.sh", "rke2-uninstall.sh"], "", CLUSTER),
    held(&["rancher"], "cluster|clusters delete", CLUSTER),
    // Queues and workflows.
    held(&["rpk"], "topic delete|trim-prefix", QUEUE),
    held(&["rpk"], "group delete", QUEUE),
    held(&["rabbitmqctl"], "delete_*|purge_queue|reset|force_reset|clear_*", QUEUE),
    held(&["rabbitmqadmin"], "delete|purge", QUEUE),
    held(&["pulsar-admin"], "* delete*", QUEUE),
    held(&["celery"], "purge", QUEUE),
    held(&["celery"], "worker", QUEUE).with(&["--purge"]),
    held(&["zkCli.sh", "zkCli", "zookeeper-shell"], "deleteall|rmr", CLUSTER),
    held(&["zkCli.sh", "zkCli", "zookeeper-shell"], "* deleteall|rmr", CLUSTER),
    held(&["temporal"], "workflow|schedule delete", HISTORY),
    held(&["temporal"], "operator namespace delete", HISTORY),
    held(&["temporal"], "workflow terminate|cancel", "it ends many workflows").with(&["--query", "-q"]),
    held(&["airflow"], "db reset|clean", "it empties a database"),
    held(&["airflow"], "dags delete", HISTORY),
    // Keys and secrets.
    held(&["pass", "gopass"], "rm|remove|delete", SECRET),
    held(&["op"], "item|document|vault|user|group delete", SECRET).without(&["--archive"]),
    held(&["bw"], "delete", SECRET),
    held(&["certbot"], "delete", SECRET),
    held(&["security"], "delete-*", SECRET),
    held(&["keytool"], "", SECRET).with(&["-delete"]),
    held(&["gpg", "gpg2"], "", SECRET).with(&[
        "--delete-secret-keys",
        "--delete-secret-key",
        "--delete-secret-and-public-key",
    ]),
    held(&["gpg", "gpg2"], "", SECRET).with(&["--delete-secret-and-public-keys"]),
    // Packages, images, forges.
    held(&["crane", "skopeo"], "delete", PACKAGE),
    held(&["oras"], "manifest|repo|blob delete|rm", PACKAGE),
    held(&["regctl"], "tag|manifest|blob delete|rm", PACKAGE),
    held(&["vsce", "ovsx"], "unpublish", PACKAGE),
    held(&["pod"], "trunk delete", PACKAGE),
    held(&["dotnet"], "nuget delete", PACKAGE),
    held(&["nuget"], "delete", PACKAGE),
    held(&["mix"], "hex.publish", PACKAGE).with(&["--revert"]),
    held(&["gh"], "issue delete", FORGE),
    held(&["gh"], "variable delete|remove", FORGE),
    held(&["gh"], "codespace|cs delete", FORGE),
    held(&["gh"], "release delete-asset", FORGE),
    held(&["hub"], "delete", FORGE),
    held(&["tea"], "repos|repo|r delete|rm", FORGE),
    // Systems of this machine that keep data of their own.
    held(&["tmutil"], "delete*", "it deletes backups"),
    held(&["vssadmin"], "delete|Delete", "it deletes backups"),
    held(&["wmic"], "shadowcopy delete", "it deletes backups"),
    held(&["bcdedit"], "", "it changes how the machine starts").with(&["/delete", "/deletevalue"]),
    held(&["flashrom"], "", "it overwrites the firmware").with(&["-w", "--write", "-E", "--erase"]),
];

#[cfg(test)]
mod tests {
    #[test]
    fn each_line_of_the_table_holds_what_it_is_about_and_nothing_beside_it() {
        crate::rules::verbs::check_each_line(super::CLIENTS, "service");
    }
}
