//! Clients of services whose command says by its first words alone that something is gone for good.

use crate::rules::verbs::VerbLine;

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
    ("gcloud", "firestore bulk-delete", "", CLOUD),
    ("gcloud", "sql backups restore", "", "it puts an older state over a database"),
    ("pulumi", "up|update", "--replace --target-replace", "it destroys parts of the infrastructure to make them anew"),
    ("copilot", "app|env|svc|job|pipeline|task delete", "", APPLICATION),
    ("amplify chalice", "delete", "", APPLICATION),
    ("zappa", "undeploy", "", APPLICATION),
    ("sst", "remove", "", APPLICATION),
    ("vercel", "blob store remove|rm", "", APPLICATION),
    ("supabase", "projects|branches|functions|sso|domains delete|remove", "", APPLICATION),
    ("supabase", "storage rm", "", FILES),
    ("supabase", "stop", "--no-backup", "it deletes the data of the local services"),
    ("firebase", "hosting:sites:delete|apphosting:backends:delete|firestore:databases:delete", "", APPLICATION),
    ("firebase", "database:set|firestore:bulkdelete", "", "it replaces or deletes what a database holds"),
    ("doctl", "registry repository|repositories delete-*", "", PACKAGE),
    ("doctl", "registry garbage-collection start", "", PACKAGE),
    ("railway", "volume|environment|service delete", "", APPLICATION),
    ("railway", "delete", "", APPLICATION),
    ("wrangler", "d1 time-travel restore", "", "it puts an older state over a database"),
    ("wrangler", "vectorize|hyperdrive|workflows|secrets-store delete", "", APPLICATION),
    ("wrangler", "kv bulk delete", "", "it deletes many keys"),
    ("neon neonctl", "branches reset|restore", "", "it puts another state over a database"),
    ("neon", "projects|branches|databases|roles delete", "", CLOUD),
    ("convex", "import", "--replace --replace-all", "it replaces what a database holds"),
    ("ibmcloud", "ks|oc cluster rm", "", CLUSTER),
    ("ibmcloud", "resource service-instance-delete|group-delete", "", CLOUD),
    ("openstack", "* delete|purge", "", CLOUD),
    ("openstack", "volume snapshot|backup delete", "", CLOUD),
    ("exo", "compute|dbaas|storage * delete|rm", "", CLOUD),
    ("civo", "* remove|delete|rm", "", CLOUD),
    ("databricks", "fs|workspace rm|delete|delete-dir", "-r --recursive", FILES),
    ("databricks", "* delete|permanent-delete|destroy", "", CLOUD),
    ("databricks", "bundle destroy", "", APPLICATION),
    // Machines.
    ("vagrant", "destroy", "", MACHINE),
    ("multipass", "purge", "", MACHINE),
    ("multipass", "delete", "-p --purge --all", MACHINE),
    ("lxc incus", "delete|rm", "", MACHINE),
    ("lxc incus", "storage volume delete", "", MACHINE),
    ("lxc incus", "storage|project delete", "", MACHINE),
    ("limactl colima orb orbctl tart prlctl", "delete|rm|remove", "", MACHINE),
    ("limactl", "factory-reset", "", MACHINE),
    ("virsh", "vol-delete|vol-wipe|pool-delete|snapshot-delete", "", MACHINE),
    ("VBoxManage vboxmanage", "unregistervm", "--delete --delete-all", MACHINE),
    ("VBoxManage vboxmanage", "closemedium", "--delete", MACHINE),
    ("qm pct", "destroy", "", MACHINE),
    ("wsl", "", "--unregister", MACHINE),
    // Clusters.
    ("docker podman", "swarm leave", "--force -f", CLUSTER),
    ("docker podman", "secret rm|remove", "", SECRET),
    ("nomad", "job stop", "-purge --purge", CLUSTER),
    ("nomad", "stop", "-purge --purge", CLUSTER),
    ("nomad", "namespace|volume|node-pool delete", "", CLUSTER),
    ("nomad", "var purge", "", SECRET),
    ("argocd", "app|appset|proj delete", "", CLUSTER),
    ("argocd", "app sync", "--prune", "it deletes what a project no longer describes"),
    ("argocd", "cluster rm", "", CLUSTER),
    ("argo", "delete", "--all", CLUSTER),
    ("flux", "uninstall|delete", "", CLUSTER),
    ("velero", "backup|schedule delete", "", "it deletes backups"),
    ("velero", "delete backup|backups|schedule|schedules", "", "it deletes backups"),
    ("istioctl cilium", "uninstall", "", CLUSTER),
    ("kubeadm talosctl k0s microk8s", "reset", "", CLUSTER),
    ("k3s-uninstall.sh k3s-agent-uninstall.sh rke2-uninstall.sh", "", "", CLUSTER),
    ("rancher", "cluster|clusters delete", "", CLUSTER),
    // Queues and workflows.
    ("rpk", "topic delete|trim-prefix", "", QUEUE),
    ("rpk", "group delete", "", QUEUE),
    ("rabbitmqctl", "delete_*|purge_queue|reset|force_reset|clear_*", "", QUEUE),
    ("rabbitmqadmin", "delete|purge", "", QUEUE),
    ("pulsar-admin", "* delete*", "", QUEUE),
    ("celery", "purge", "", QUEUE),
    ("celery", "worker", "--purge", QUEUE),
    ("zkCli.sh zkCli zookeeper-shell", "deleteall|rmr", "", CLUSTER),
    ("zkCli.sh zkCli zookeeper-shell", "* deleteall|rmr", "", CLUSTER),
    ("temporal", "workflow|schedule delete", "", HISTORY),
    ("temporal", "operator namespace delete", "", HISTORY),
    ("temporal", "workflow terminate|cancel", "--query -q", "it ends many workflows"),
    ("airflow", "db reset|clean", "", "it empties a database"),
    ("airflow", "dags delete", "", HISTORY),
    // Keys and secrets.
    ("pass gopass", "rm|remove|delete", "", SECRET),
    ("op", "item|document|vault|user|group delete", "!--archive", SECRET),
    ("bw", "delete", "", SECRET),
    ("certbot", "delete", "", SECRET),
    ("security", "delete-*", "", SECRET),
    ("keytool", "", "-delete", SECRET),
    ("gpg gpg2", "", "--delete-secret-keys --delete-secret-key --delete-secret-and-public-key", SECRET),
    ("gpg gpg2", "", "--delete-secret-and-public-keys", SECRET),
    // Packages, images, forges.
    ("crane skopeo", "delete", "", PACKAGE),
    ("oras", "manifest|repo|blob delete|rm", "", PACKAGE),
    ("regctl", "tag|manifest|blob delete|rm", "", PACKAGE),
    ("vsce ovsx", "unpublish", "", PACKAGE),
    ("pod", "trunk delete", "", PACKAGE),
    ("dotnet", "nuget delete", "", PACKAGE),
    ("nuget", "delete", "", PACKAGE),
    ("mix", "hex.publish", "--revert", PACKAGE),
    ("gh", "issue delete", "", FORGE),
    ("gh", "variable delete|remove", "", FORGE),
    ("gh", "codespace|cs delete", "", FORGE),
    ("gh", "release delete-asset", "", FORGE),
    ("hub", "delete", "", FORGE),
    ("tea", "repos|repo|r delete|rm", "", FORGE),
    // Systems of this machine that keep data of their own.
    ("tmutil", "delete*", "", "it deletes backups"),
    ("vssadmin", "delete|Delete", "", "it deletes backups"),
    ("wmic", "shadowcopy delete", "", "it deletes backups"),
    ("bcdedit", "", "/delete /deletevalue", "it changes how the machine starts"),
    ("flashrom", "", "-w --write -E --erase", "it overwrites the firmware"),
];
