//! The verbs around the gateway: success, refusal, broken input.

use super::support::{Gateway, Provider, config, message, say, tripwire};
use tripwire_core::record::chain::Digest;
use tripwire_testing::TestDir;

fn run(dir: &TestDir, arguments: &[&str]) -> std::process::Output {
    tripwire().current_dir(dir.path()).args(arguments).output().unwrap()
}

#[test]
fn gate_8_gateway_key_new_prints_a_token_once_and_a_block_that_works() {
    let dir = TestDir::new();
    let made = run(&dir, &["gateway", "key", "new", "ci", "--team", "web", "--budget", "5usd/day", "--json"]);
    let made: serde_json::Value = serde_json::from_slice(&made.stdout).unwrap();
    let (token, block) = (made["token"].as_str().unwrap(), made["toml"].as_str().unwrap());
    assert!(token.len() >= 48 && !block.contains(token), "{block}");
    assert!(block.contains(&Digest::of(token.as_bytes()).to_string()), "{block}");
    let provider = Provider::new(|_, socket| say(socket, "200 OK", "application/json", message(1, 1).as_bytes()));
    let text = config(&provider, "").split("[[key]]").next().unwrap().to_owned();
    let gateway = Gateway::start(&format!("{text}[[team]]\nname = \"web\"\n{block}"));
    let ask = r#"{"model":"claude-sonnet-4-5","max_tokens":10,"messages":[]}"#;
    let reply = gateway.send("POST", "/anthropic/v1/messages", &format!("x-api-key: {token}\r\n"), ask);
    assert_eq!(reply.status, 200, "{reply:?}");
    for wrong in [
        &["gateway", "key", "new", "no spaces"][..],
        &["gateway", "key", "new", "ci", "--budget", "5usd/week"],
        &["gateway", "key", "new"],
    ] {
        assert_eq!(run(&dir, wrong).status.code(), Some(2), "{wrong:?}");
    }
}

#[test]
fn gate_8_gateway_does_not_begin_with_a_broken_configuration_or_where_others_reach_it_without_keys() {
    let dir = TestDir::new();
    std::fs::write(dir.path().join("g.toml"), "[[key]]\nname = \"ci\"\ntoken_sha256 = \"xyz\"\n").unwrap();
    let broken = run(&dir, &["gateway", "--config", "g.toml", "--listen", "127.0.0.1:0"]);
    let said = String::from_utf8(broken.stderr).unwrap();
    assert_eq!(broken.status.code(), Some(2), "{said}");
    assert!(said.contains("g.toml") && said.contains("line 3, column 16"), "{said}");
    for (arguments, code) in [
        (&["gateway", "--config", "none.toml"][..], 2),
        (&["gateway", "--listen", "0.0.0.0:0"], 11),
        (&["gateway", "--listen", "somewhere"], 2),
        (&["gateway", "usage", "--config", "g.toml"], 2),
    ] {
        let output = run(&dir, arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {output:?}");
    }
}

#[test]
fn gate_8_gateway_a_second_one_in_a_workspace_does_not_begin_and_names_the_first() {
    let provider = Provider::new(|_, socket| say(socket, "200 OK", "application/json", message(10, 10).as_bytes()));
    let gateway = Gateway::start(&config(&provider, "budget = \"1usd\""));
    let second = gateway.verb(&["gateway", "--listen", "127.0.0.1:0"]);
    let said = String::from_utf8(second.stderr).unwrap();
    assert_eq!(second.status.code(), Some(11), "{said}");
    let pid = gateway.pid().to_string();
    assert!(said.contains(&format!("process {pid}")) && said.contains("--workspace"), "{said}");
    assert!(said.contains(&format!("kill {pid}")), "{said}");
    std::fs::remove_file(gateway.workspace().join(".geometry/state/gateway.lock")).unwrap();
    let second = gateway.verb(&["gateway", "--listen", "127.0.0.1:0"]);
    let said = String::from_utf8(second.stderr).unwrap();
    assert_eq!(second.status.code(), Some(11), "a lock file that was deleted is no way around: {said}");
    assert!(said.contains("already runs"), "{said}");
}

#[test]
fn gate_8_gateway_usage_is_shown_while_one_runs_and_the_next_one_begins_after_it() {
    let provider = Provider::new(|_, socket| say(socket, "200 OK", "application/json", message(10, 10).as_bytes()));
    let text = config(&provider, "budget = \"1usd\"");
    let gateway = Gateway::start(&text);
    let ask = r#"{"model":"claude-sonnet-4-5","max_tokens":10,"messages":[]}"#;
    assert_eq!(gateway.post("/anthropic/v1/messages", ask).status, 200);
    assert_eq!(gateway.spent(), 180);
    let next = Gateway::start_in(gateway.kill(), &text);
    assert_eq!(next.post("/anthropic/v1/messages", ask).status, 200);
    assert_eq!(next.spent(), 360);
}

#[test]
fn gate_8_cost_shows_the_dated_price_list_and_says_when_there_is_nothing_to_show() {
    let dir = TestDir::new();
    let prices = run(&dir, &["cost", "--prices", "--json"]);
    let prices: serde_json::Value = serde_json::from_slice(&prices.stdout).unwrap();
    let models = prices["models"].as_array().unwrap();
    assert!(models.len() > 30 && prices["read_on"].as_str().is_some_and(|day| day.starts_with("20")), "{prices}");
    let sonnet = models.iter().find(|model| model["name"] == "claude-sonnet-4-5").unwrap();
    assert_eq!(sonnet["micro_usd_per_1000"], serde_json::json!([3_000, 300, 3_750, 6_000, 15_000]));
    let text = String::from_utf8(run(&dir, &["cost", "--prices"]).stdout).unwrap();
    assert!(text.contains("claude-sonnet-4-5") && text.contains("15.000"), "{text}");
    for arguments in [&["cost"][..], &["gateway", "usage"]] {
        let output = run(&dir, arguments);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        assert!(String::from_utf8(output.stdout).unwrap().contains("no model call was settled"));
    }
    assert_eq!(run(&dir, &["cost", "--prices", "--explain", "1"]).status.code(), Some(2));
    assert!(!dir.path().join(".geometry").exists(), "looking makes nothing");
}

#[test]
fn gate_8_gateway_a_person_sets_prices_and_a_wrong_one_is_named() {
    let provider = Provider::new(|_, socket| say(socket, "200 OK", "application/json", message(1_000, 100).as_bytes()));
    let dir = TestDir::new();
    let geometry = dir.path().join("w/.geometry");
    std::fs::create_dir_all(&geometry).unwrap();
    let manifest = geometry.join("MANIFEST.yaml");
    std::fs::write(&manifest, "money:\n  prices: \"claude-sonnet-4-5=1/2, mine=0.001/0.001\"\n").unwrap();
    let gateway = Gateway::start_in(dir, &config(&provider, ""));
    let ask = |model: &str| format!(r#"{{"model":"{model}","max_tokens":100,"messages":[]}}"#);
    // 1,000 tokens at $1 and 100 at $2 a million.
    gateway.post("/anthropic/v1/messages", &ask("claude-sonnet-4-5"));
    assert_eq!(gateway.spent(), 1_200);
    gateway.post("/anthropic/v1/messages", &ask("mine-20260101"));
    assert_eq!(gateway.spent(), 1_202, "a price of one's own is no estimate");
    gateway.post("/anthropic/v1/messages", &ask("claude-opus-4-5"));
    assert_eq!(gateway.spent(), 1_202 + 5_000 + 2_500, "others keep the list's");
    let shown = String::from_utf8(gateway.verb(&["cost", "--prices"]).stdout).unwrap();
    assert!(shown.contains("mine (money.prices)"), "{shown}");
    let line = gateway.json(&["cost"])["calls"][0]["line"].to_string();
    let sum = String::from_utf8(gateway.verb(&["cost", "--explain", &line]).stdout).unwrap();
    assert!(sum.contains("$1.000/M"), "{sum}");
    std::fs::write(&manifest, "money:\n  prices: \"mine=cheap\"\n").unwrap();
    let refused = gateway.verb(&["cost", "--prices"]);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("money.prices"), "{refused:?}");
}
