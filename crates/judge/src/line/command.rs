//! The command of a program with verbs: its plain words in their order, without options and without the values of options.
//!
//! `docker --context prod volume rm data` and `docker volume rm data` are the same command. What a rule asks for stands
//! at the beginning: the words behind it are names, whatever they say.

use crate::line::call::Call;
use crate::line::field::Field;

/// Options that take the next word as their value: of a program, or of a program behind its first word (`docker/compose`).
/// Only those are needed that may stand before the last word of a verb.
const VALUES: &[(&[&str], &str)] = &[
    (&["docker", "podman", "nerdctl"], "-c --context -H --host --config -l --log-level --tlscacert --tlscert --tlskey"),
    (&["podman"], "--connection --url --identity --root --runroot --storage-driver --storage-opt"),
    (&["nerdctl"], "-n --namespace -a --address --snapshotter"),
    (
        &["docker/compose", "podman/compose", "nerdctl/compose", "docker-compose"],
        "-f --file -p --project-name --profile --env-file",
    ),
    (
        &["docker/compose", "podman/compose", "nerdctl/compose", "docker-compose"],
        "--project-directory --ansi --parallel --progress",
    ),
    (&["docker/buildx"], "--builder"),
    (
        &["kubectl", "oc"],
        "-n --namespace --context --kubeconfig --cluster --user --as --as-group --as-uid --token -s --server",
    ),
    (
        &["kubectl", "oc"],
        "--request-timeout -v --v --cache-dir --certificate-authority --client-certificate --client-key",
    ),
    (
        &["kubectl", "oc"],
        "--tls-server-name --username --password --profile -o --output -l --selector --field-selector",
    ),
    (
        &["kubectl", "oc"],
        "-f --filename -k --kustomize --grace-period --timeout --log-flush-frequency --profile-output",
    ),
    (&["crictl"], "-r --runtime-endpoint -i --image-endpoint -t --timeout -c --config"),
    (
        &["helm"],
        "-n --namespace --kube-context --kubeconfig --kube-apiserver --kube-token --kube-as-user --kube-as-group",
    ),
    (&["helm"], "--kube-ca-file --registry-config --repository-config --repository-cache --burst-limit --qps"),
    (
        &["helmfile"],
        "-e --environment -f --file -l --selector -n --namespace --kube-context --log-level -b --helm-binary",
    ),
    (
        &["kapp", "skaffold", "tilt", "kustomize"],
        "-n --namespace -f --filename -p --profile --kubeconfig --kube-context --context",
    ),
    (&["terragrunt"], "--terragrunt-working-dir --terragrunt-config --working-dir --config --log-level --source"),
    (&["terragrunt"], "--terragrunt-source --terragrunt-download-dir --terragrunt-parallelism --terragrunt-iam-role"),
    (&["terragrunt"], "--terragrunt-include-dir --terragrunt-exclude-dir --terragrunt-tfpath --terragrunt-log-level"),
    (&["eksctl"], "-f --config-file -r --region -p --profile -v --verbose -C --color"),
    (&["kops"], "--state --name --config -v --v"),
    (&["kind"], "-v --verbosity --loglevel"),
    (&["pulumi"], "-C --cwd --color --tracing --profiling -v --verbose -s --stack"),
    (&["cdk", "cdktf"], "-a --app -c --context --profile -o --output -r --role-arn --toolkit-stack-name"),
    (
        &["serverless", "sls", "sam"],
        "-s --stage -r --region --aws-profile --profile -c --config --config-env --config-file",
    ),
    (&["aws"], "--profile --region --output --query --endpoint-url --ca-bundle --color --cli-read-timeout"),
    (&["aws"], "--cli-connect-timeout --cli-binary-format"),
    (&["gcloud"], "--project --account --configuration --format --verbosity --billing-project --flags-file --filter"),
    (&["gcloud"], "--impersonate-service-account --access-token-file --zone --region --location --cluster"),
    (&["az"], "--subscription -g --resource-group -o --output --query -n --name"),
    (&["doctl"], "-t --access-token -c --config --context -o --output -u --api-url"),
    (
        &["hcloud", "scw", "vultr-cli", "linode-cli", "oci"],
        "--context --config --config-file --endpoint --profile -p --region -o --output",
    ),
    (
        &["pscale", "neonctl", "atlas", "confluent", "render"],
        "--org --project-id --projectId -o --output --profile --api-key --context",
    ),
    (
        &["gh", "glab", "hub", "tea"],
        "-R --repo -X --method -f -F --field --raw-field -H --header --hostname --input -q --jq",
    ),
    (&["gh", "glab", "hub", "tea"], "-t --template --title -n --notes --cache -g --group"),
    (&["heroku", "fly", "flyctl"], "-a --app -r --remote -t --access-token -c --config"),
    (&["vercel"], "--token -t --scope -S --cwd -A --local-config -Q --global-config"),
    (&["netlify", "firebase"], "--auth --site --filter -P --project --token -c --config --account"),
    (&["npm", "pnpm", "yarn", "bun", "lerna"], "--loglevel --userconfig --globalconfig --cache --prefix -C --registry"),
    (
        &["npm", "pnpm", "yarn", "bun", "lerna"],
        "--tag --access --otp --script-shell --omit --include --auth-type --filter -F --dir",
    ),
    (&["npm", "pnpm", "yarn", "bun", "lerna"], "--reporter --cwd --config --concurrency --scope"),
    (&["npm"], "-w --workspace"),
    (
        &["cargo"],
        "--color --config -C -Z --manifest-path -p --package --registry --index --token --target-dir -j --jobs",
    ),
    (&["cargo"], "--features -F --target --profile"),
    (
        &["uv"],
        "--directory --project --color --config-file --cache-dir --index --index-url --default-index -p --python",
    ),
    (&["uv"], "--allow-insecure-host -t --token -u --username --publish-url --check-url"),
    (&["poetry"], "-C --directory -P --project -r --repository -u --username -p --password --dist-dir --cert"),
    (
        &["hatch", "pdm", "rye", "flit"],
        "-e --env -p --project --data-dir --cache-dir --config -c -f --ini-path -r --repo --repository",
    ),
    (
        &["mvn", "mvnw"],
        "-pl --projects -P --activate-profiles -s --settings -gs --global-settings -T --threads -f --file",
    ),
    (&["mvn", "mvnw"], "-l --log-file -t --toolchains -rf --resume-from -D -b --builder"),
    (
        &["gradle", "gradlew"],
        "-p --project-dir -c --settings-file -b --build-file -g --gradle-user-home -I --init-script",
    ),
    (&["gradle", "gradlew"], "-x --exclude-task --console --priority --max-workers -P --project-prop -D --system-prop"),
    (
        &["s3cmd", "s4cmd", "s5cmd"],
        "-c --config --access_key --secret_key --region --host --host-bucket --endpoint-url --profile",
    ),
    (&["s3cmd", "s4cmd", "s5cmd"], "--credentials-file --log --numworkers -r --retry-count"),
    (&["mc", "mcli"], "-C --config-dir --resolve --limit-upload --limit-download"),
    (&["rclone"], "--config --transfers --checkers --log-file --log-level --bwlimit --include --exclude --filter"),
    (&["rclone"], "--tpslimit --retries --stats --max-age --min-age --max-depth --buffer-size --multi-thread-streams"),
    (&["gsutil"], "-h -o -u -i"),
    (&["ossutil", "ossutil64", "coscli", "obsutil"], "-c --config-file -e --endpoint -i -k"),
    (&["wrangler"], "-c --config -e --env --cwd --env-file"),
    (
        &["redis-cli", "valkey-cli", "keydb-cli"],
        "-h -p -s -a -u -n -r -i -d -D -X -t --user --pass --cacert --cacertdir --cert --key",
    ),
    (&["redis-cli", "valkey-cli", "keydb-cli"], "--sni --tls-ciphers --tls-ciphersuites"),
    (
        &["restic"],
        "-r --repo --repository-file -p --password-file --password-command -o --option --cache-dir --key-hint",
    ),
    (&["borg"], "--remote-path --rsh --lock-wait --umask --log-json"),
    (
        &["systemctl"],
        "-H --host -M --machine -t --type -p --property -s --signal -n --lines -o --output --root --state",
    ),
    (&["cryptsetup"], "-c --cipher -s --key-size -h --hash -d --key-file -S --key-slot --type"),
    (&["nft"], "-f --file -I --includepath -D --define -d --debug"),
    (&["btrfs"], "--format --log"),
    (&["mysqladmin"], "-h --host -u --user -P --port -S --socket --protocol --defaults-file"),
    (&["dropdb", "dropuser", "pg_restore"], "-h --host -p --port -U --username"),
    (&["pg_restore"], "-d --dbname -f --file -F --format -j --jobs -n --schema -t --table"),
    (&["mongorestore"], "-h --host --port -u --username -p --password -d --db -c --collection --uri"),
    (&["bq"], "--project_id --dataset_id --location --format --api --bigqueryrc --credential_file"),
    (&["etcdctl", "vault", "consul"], "--endpoints --cacert --cert --key --user -address -namespace"),
    (&["etcdctl"], "--password --command-timeout --dial-timeout -w --write-out"),
    (&["rails", "rake"], "-f --rakefile -C --directory -I -r --require -e --environment"),
    (&["prisma", "alembic"], "--schema -c --config -n --name -x"),
    (&["knex", "sequelize", "sequelize-cli", "typeorm"], "--knexfile --env --cwd --config --url -d --dataSource"),
    (&["diesel", "sqlx"], "-D --database-url --config-file --migration-dir --source"),
    (&["dbmate"], "-u --url -e --env -d --migrations-dir -s --schema-file"),
    (&["supabase"], "--workdir --profile --db-url"),
    (&["liquibase"], "--url --username --password --defaults-file --changelog-file"),
    (&["git"], "-C -c --git-dir --work-tree --namespace"),
    (&["flask"], "-A --app -e --env-file -d --directory"),
    (&["sea-orm-cli", "loco"], "-d --migration-dir -u --database-url -s --database-schema -e --environment"),
    (&["migrate", "goose"], "-path -database -source -dir -table -d -prefetch -lock-timeout"),
    (&["influx"], "--host -t --token -o --org --org-id -c --active-config --configs-path"),
    (&["wp", "drush"], "--path --url --ssh --user -r --root -l --uri"),
    (&["mikro-orm", "drizzle-kit", "payload"], "--config --contextName --context"),
    (
        &["argocd", "argo", "flux"],
        "--server --auth-token --grpc-web-root-path --config -n --namespace --context --kubeconfig",
    ),
    (&["velero", "istioctl", "cilium"], "-n --namespace --kubeconfig --kubecontext --context -i --istioNamespace"),
    (&["talosctl"], "-n --nodes -e --endpoints --talosconfig --context --cluster"),
    (&["nomad"], "-address -namespace -region -token -ca-cert -client-cert -client-key"),
    (&["rpk"], "-X --config --profile --brokers -b"),
    (&["rabbitmqctl"], "-n --node -p --vhost -t --timeout --formatter"),
    (
        &["rabbitmqadmin"],
        "-H --host -P --port -V --vhost -u --username -p --password -c --config -N --node -f --format",
    ),
    (&["pulsar-admin"], "--admin-url --auth-plugin --auth-params"),
    (&["celery"], "-A --app -b --broker --result-backend --loader --config --workdir"),
    (&["temporal"], "-n --namespace --address --api-key --env -o --output"),
    (&["databricks"], "-p --profile -o --output -t --target"),
    (&["railway"], "-s --service -e --environment"),
    (&["convex"], "--env-file --url --admin-key"),
    (
        &["copilot", "amplify", "chalice", "zappa", "sst"],
        "-a --app -e --env -n --name --stage --profile --region --project-dir",
    ),
    (
        &["openstack", "ibmcloud", "exo", "civo"],
        "--os-cloud --os-region-name -z --zone --region -f --format -c --column",
    ),
    (&["lxc", "incus", "limactl"], "--project --log-level"),
    (
        &["skopeo", "crane", "oras", "regctl"],
        "--creds --authfile -u --username -p --password --platform --registries-conf",
    ),
    (&["op", "bw"], "--vault --account --session --config"),
];

/// Options that take no value, whatever the program.
const FLAGS: &str = "--all --debug --force --frozen --global --insecure --interactive --json --locked --non-interactive --offline --quiet --recursive \
--silent --tls --verbose --wait --yes";
/// Plain words among which a verb ends.
const VERB_WORDS: usize = 2;

/// A plain word of a command, and which of the call's arguments it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PlainWord {
    pub(crate) at: usize,
    pub(crate) text: String,
}

/// The plain words of a command, as text; one that cannot be known is empty.
pub(crate) fn words(call: &Call) -> Vec<String> {
    placed_words(call).into_iter().map(|word| word.text).collect()
}

/// The plain words of a command with their places.
pub(crate) fn placed_words(call: &Call) -> Vec<PlainWord> {
    let name = call.name();
    let mut words: Vec<PlainWord> = Vec::new();
    let mut args = call.args.iter().enumerate().skip(1);
    while let Some((at, field)) = args.next() {
        let text = field.text();
        if text == "--" {
            words.extend(args.map(|(at, field)| PlainWord { at, text: field.text() }));
            break;
        }
        if text.len() > 1 && text.starts_with('-') {
            let first = words.first().map(|word| word.text.as_str());
            if takes_value(&name, first, &text) {
                args.next();
            }
            continue;
        }
        // `docker $OPTIONS volume rm x`, `cargo +nightly publish`
        let before_verb = text.is_empty() || (name == "cargo" && text.starts_with('+'));
        if !(words.is_empty() && before_verb) {
            words.push(PlainWord { at, text });
        }
    }
    words
}

/// The call as it reads where options that nobody knows take the next word as their value: `kubectl --new-option x delete ns
/// prod`. None where no such option stands before the end of a verb.
pub(crate) fn other_reading(call: &Call) -> Option<Call> {
    let name = call.name();
    let mut args: Vec<Field> = call.args.iter().take(1).cloned().collect();
    let mut plain: Vec<String> = Vec::new();
    let mut rest = call.args.iter().skip(1).peekable();
    while plain.len() < VERB_WORDS {
        let Some(field) = rest.next() else { break };
        let text = field.text();
        if takes_value(&name, plain.first().map(String::as_str), &text) {
            args.push(field.clone());
            args.extend(rest.next().cloned());
        } else if let Some(value) = rest.next_if(|next| may_take(&text, &next.text())) {
            args.push(Field::of(&format!("{text}={}", value.text())));
        } else {
            args.push(field.clone());
            if text == "--" {
                break;
            }
            plain.extend((!text.starts_with('-')).then_some(text));
        }
    }
    args.extend(rest.cloned());
    (args.len() < call.args.len()).then(|| call.with_args(args))
}

/// Whether an option that no table names may take the next word.
fn may_take(option: &str, word: &str) -> bool {
    option.len() > 2
        && option.starts_with("--")
        && !option.contains('=')
        && !word.starts_with('-')
        && !option.starts_with("--no-")
        && !FLAGS.split(' ').any(|flag| flag == option)
}

/// Whether a program only tells about itself. A version beside a verb is one that the verb is about.
pub(crate) fn asks_for_help(call: &Call) -> bool {
    let words = words(call);
    let short = call.has_any(&["-h"]) && !takes_value(&call.name(), None, "-h");
    short
        || call.has_any(&["--help", "-help"])
        || words.first().is_some_and(|word| word == "help")
        || (words.is_empty() && call.has_any(&["--version"]))
}

fn takes_value(name: &str, first: Option<&str>, option: &str) -> bool {
    // Most words are not options, and the table is long.
    if !option.starts_with('-') {
        return false;
    }
    let letter = name.as_bytes().first();
    let is_own = |program: &&str| {
        // Nearly all of the table is told apart by the first letter.
        program.as_bytes().first() == letter
            && match program.strip_prefix(name) {
                Some("") => true,
                Some(rest) => rest.strip_prefix('/').is_some_and(|word| first == Some(word)),
                None => false,
            }
    };
    let own = VALUES.iter().filter(|(programs, _)| programs.iter().any(is_own));
    own.flat_map(|(_, options)| options.split(' ')).any(|known| known == option)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::call::Place;
    use crate::line::stream::Stream;

    fn call(line: &str) -> Call {
        let args = line.split(' ').map(Field::of).collect();
        Call { args, env: Vec::new(), stdin: Stream::Closed, place: Place::Here }
    }

    #[test]
    fn a_command_is_its_words_without_options_and_their_values() {
        for (line, command) in [
            ("docker --context prod volume rm data", "volume rm data"),
            ("docker --context=prod volume rm -f data", "volume rm data"),
            ("docker compose -f dev.yml -p x down -v", "compose down"),
            ("kubectl -n prod delete pvc data", "delete pvc data"),
            ("kubectl delete -n prod pvc data", "delete pvc data"),
            ("gh api -X POST repos/o/r/releases", "api repos/o/r/releases"),
            ("cargo +nightly --color always publish", "publish"),
            ("unknown --option value verb", "value verb"),
            ("npm exec -- rm -rf x", "exec rm -rf x"),
        ] {
            assert_eq!(words(&call(line)).join(" "), command, "{line}");
        }
    }

    #[test]
    fn an_option_that_nobody_knows_may_take_the_word_behind_it_before_a_verb_and_nowhere_else() {
        let other = |line: &str| other_reading(&call(line)).map(|call| words(&call).join(" "));
        for (line, command) in [
            ("kubectl --new x delete ns prod", "delete ns prod"),
            ("aws ec2 --new x terminate-instances", "ec2 terminate-instances"),
            ("kubectl -n a --new x --other y delete ns prod", "delete ns prod"),
        ] {
            assert_eq!(other(line).as_deref(), Some(command), "{line}");
        }
        for line in [
            "kubectl -n prod get ns",
            "kubectl --new=x delete ns prod",
            "kubectl get pods --new delete",
            "cargo --quiet test publish",
            "helm --no-hooks template delete",
            "npm exec -- rimraf --new x",
        ] {
            assert_eq!(other(line), None, "{line}");
        }
    }

    #[test]
    fn a_version_beside_a_verb_is_no_question() {
        for line in ["gem --version", "kubectl help delete", "kubectl delete --help", "helm delete -h"] {
            assert!(asks_for_help(&call(line)), "{line}");
        }
        for line in [
            "gem yank foo --version 1.0.0",
            "redis-cli -h host FLUSHALL",
            "dropdb -h host prod",
            "pg_restore -h host -c -d prod dump",
            "mongorestore -h host --drop dump",
            "kubectl delete help",
        ] {
            assert!(!asks_for_help(&call(line)), "{line}");
        }
    }
}
