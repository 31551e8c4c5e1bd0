//! The examples in `packaging/fleet`: units that systemd takes, a server's configuration that nats-server takes, a chart whose templates
//! are YAML once their values stand in them. Each needs a tool; without it the test says so and skips. helm itself is not run.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tripwire_testing::{TestDir, skip};

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/fleet").join(name)
}

fn has(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// What systemd says of a unit; about a good one it prints nothing, because warnings do not change its exit code.
fn verify(text: &str, name: &str, kind: &str) -> String {
    let folder = TestDir::new();
    let unit = folder.path().join(name);
    fs::write(&unit, text).unwrap();
    let mut command = Command::new("systemd-analyze");
    command.arg("verify").arg(kind).arg(&unit).env("XDG_RUNTIME_DIR", folder.path());
    let said: Output = command.output().unwrap();
    format!("{}{}", String::from_utf8_lossy(&said.stdout), String::from_utf8_lossy(&said.stderr))
}

#[test]
fn fleet_8_systemd_takes_the_units_and_names_a_wrong_one() {
    if !has("systemd-analyze") {
        return skip("systemd-analyze is not on PATH: the units of packaging/fleet were not verified");
    }
    let units = [
        ("tripwire-fleet.service", "%h/.cargo/bin/tripwire", "--user"),
        ("tripwire-nats.service", "/usr/local/bin/nats-server", "--system"),
    ];
    for (name, program, kind) in units {
        let text = fs::read_to_string(example("systemd").join(name)).unwrap();
        // Whether a program is installed is another question.
        let here = text.replace(program, "/bin/true");
        assert_ne!(here, text);
        assert_eq!(verify(&here, name, kind), "", "{name}");
        let wrong = here.replace("RestartSec=2", "Restart=sometimes");
        assert!(verify(&wrong, name, kind).contains("sometimes"), "{name}");
    }
    let text = fs::read_to_string(example("systemd/tripwire-fleet.service")).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("ExecStart=")).unwrap();
    let words: Vec<&str> = line.split(' ').skip(1).chain(["--help"]).collect();
    let ours = Command::new(env!("CARGO_BIN_EXE_tripwire")).args(&words).output().unwrap();
    assert!(ours.status.success(), "{words:?}");
}

/// Runs nats-server's own check of a configuration, with certificates and keys in place.
fn check(text: &str) -> (bool, String) {
    let folder = TestDir::new();
    let here = folder.path().to_str().unwrap();
    let file = |name: &str| folder.path().join(name);
    let mut openssl = Command::new("openssl");
    openssl.args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1"]);
    openssl.args(["-subj", "/CN=node"]).arg("-keyout").arg(file("server.key")).arg("-out").arg(file("server.pem"));
    assert!(openssl.output().unwrap().status.success());
    fs::copy(file("server.pem"), file("ca.pem")).unwrap();
    let data = format!("{here}/data");
    let text = text.replace("/etc/tripwire-nats", here).replace("/var/lib/tripwire-nats", &data);
    fs::write(file("nats-server.conf"), text).unwrap();
    let mut server = Command::new("nats-server");
    server.arg("-t").arg("-c").arg(file("nats-server.conf")).envs([("NODE", "node-1"), ("ROUTE_PASSWORD", "secret")]);
    server.envs([1, 2, 3].map(|node| (format!("ROUTE_{node}"), format!("nats-route://127.0.0.{node}:6222"))));
    // Public keys of no pair that anybody has.
    server.envs([
        ("MONITOR_NKEY", "UB66S43HZHG4HRW3GGVBCQCXWZOOUGT3V7DRZ4CZLIUTCAIVE2QKHFX6"),
        ("OPERATOR_NKEY", "UADOKW3DGSA7POYHFFL6VPHRCDEXF2DGSHB473NL4CEAES774QXSGXER"),
        ("MACHINE_NKEY", "UC6AECRVW744WE4C462TJRUOHRJR3BE3CGN7CT3V3XVNNTCFYPGMCKDO"),
    ]);
    let said = server.output().unwrap();
    (said.status.success(), String::from_utf8_lossy(&said.stderr).into_owned())
}

#[test]
fn fleet_8_a_server_takes_its_configuration_and_syncs_every_write() {
    let text = fs::read_to_string(example("helm/tripwire-fleet/nats-server.conf")).unwrap();
    let settings: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.starts_with('#')).collect();
    assert!(settings.contains(&"sync_interval: always"), "what `fleet join` asks for");
    // The permissions of a machine are those that `fleet invite` gives.
    let invited = include_str!("../../../../fleet/src/nats/cluster.rs");
    let given = text.split('"').filter(|word| word.starts_with("tw.") || word.starts_with("$JS."));
    for word in given {
        let in_source = word.replace("build-7", "{machine}");
        assert!(invited.contains(&format!("\\\"{in_source}\\\"")), "`fleet invite` does not give {word}");
    }
    if !has("nats-server") || !has("openssl") {
        return skip("nats-server or openssl is not on PATH: nats-server.conf of packaging/fleet was not checked");
    }
    let (good, said) = check(&text);
    assert!(good, "{said}");
    let (good, said) = check(&text.replace("sync_interval: always", "sync_interval: sometimes"));
    assert!(!good && said.contains("sync_interval"), "{said}");
}

/// The values of the chart by their path: two levels, as the templates use them.
fn values() -> BTreeMap<String, String> {
    let text = fs::read_to_string(example("helm/tripwire-fleet/values.yaml")).unwrap();
    let (mut section, mut values) = (String::new(), BTreeMap::new());
    for line in text.lines().filter(|line| !line.trim_start().starts_with('#')) {
        let (key, value) = line.split_once(':').unwrap();
        match key.strip_prefix("  ") {
            None => section = key.to_owned(),
            Some(key) => {
                drop(values.insert(format!(".Values.{section}.{key}"), value.trim().trim_matches('"').to_owned()))
            }
        }
    }
    values
}

/// A template with its values; an expression that the chart does not define ends the test, and those that were used are told.
fn render(template: &str, values: &BTreeMap<String, String>) -> (String, Vec<String>) {
    let (mut text, mut used, mut rest) = (String::new(), Vec::new(), template);
    while let Some((before, behind)) = rest.split_once("{{") {
        let (expression, after) = behind.split_once("}}").unwrap();
        text.push_str(before);
        let expression = expression.trim();
        match (expression, values.get(expression)) {
            (".Release.Name", _) => text.push_str("test"),
            ("- .Files.Get \"nats-server.conf\" | nindent 4", _) => text.push_str("listen: x"),
            (_, Some(value)) => text.push_str(value),
            (_, None) => panic!("no such value: {expression}"),
        }
        used.push(expression.to_owned());
        rest = after;
    }
    (text + rest, used)
}

/// Which of these texts Python reads as YAML that names a version of an interface; none where it cannot tell.
fn are_yaml(texts: &[String]) -> Option<Vec<bool>> {
    let folder = TestDir::new();
    let mut python = Command::new("python3");
    python.args(["-c", PYTHON]);
    for (number, text) in texts.iter().enumerate() {
        let file = folder.path().join(format!("{number}.yaml"));
        fs::write(&file, text).unwrap();
        python.arg(file);
    }
    let said = python.output().ok().filter(|said| said.status.success())?;
    Some(String::from_utf8_lossy(&said.stdout).lines().map(|line| line == "yes").collect())
}

const PYTHON: &str = "import sys, yaml
for file in sys.argv[1:]:
    try:
        print('yes' if yaml.safe_load(open(file)).get('apiVersion') else 'no')
    except (yaml.YAMLError, AttributeError):
        print('no')
";

#[test]
fn fleet_8_the_templates_of_the_chart_are_yaml_and_use_every_value() {
    let (values, mut all_used) = (values(), Vec::new());
    let mut texts = vec!["apiVersion: [\n".to_owned(), "kind: x\n".to_owned()];
    texts.push(fs::read_to_string(example("helm/tripwire-fleet/Chart.yaml")).unwrap());
    for file in fs::read_dir(example("helm/tripwire-fleet/templates")).unwrap() {
        let (text, used) = render(&fs::read_to_string(file.unwrap().path()).unwrap(), &values);
        texts.push(text);
        all_used.extend(used);
    }
    assert!(values.len() > 5 && values.keys().all(|value| all_used.contains(value)), "{values:?} {all_used:?}");
    let servers = fs::read_to_string(example("helm/tripwire-fleet/templates/nats-servers.yaml")).unwrap();
    assert!(servers.contains("\n  replicas: 3\n"));
    let Some(found) = are_yaml(&texts) else {
        return skip("python3 with PyYAML is not here: the chart of packaging/fleet was not parsed");
    };
    assert_eq!(found[..2], [false, false], "what is no such YAML is found");
    assert!(found.len() == texts.len() && found[2..].iter().all(|good| *good), "{found:?}\n{}", texts.join("---\n"));
    skip("helm is not run: that the chart installs was not tested");
}
