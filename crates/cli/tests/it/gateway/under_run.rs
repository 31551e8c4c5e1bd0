//! The gateway under `tripwire run`: inserted by itself, for this run only, with the session's budget.

use super::support::{Provider, begin_stream, chunk, everything, message, say};
use crate::run::fixture::{RunEnd, RunFixture, finish, output};
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The key that only the gateway and the provider may see.
pub(super) const KEY: &str = "sk-ant-person-4711";

/// How the client asks its model: a request over a plain connection, as its environment says; status and body come back.
pub(super) const ASK: &str = r#"
ask() {
  url=${ANTHROPIC_BASE_URL#http://}
  body=${1:-'{"model":"claude-sonnet-4-5","max_tokens":1000,"messages":[]}'}
  bash -c 'exec 3<>"/dev/tcp/${0%%:*}/${0##*:}"
    printf "POST /%s HTTP/1.1\r\nhost: x\r\n%s: %s\r\nconnection: close\r\ncontent-length: %s\r\n\r\n%s" "$1" "$2" "$3" "${#4}" "$4" >&3
    cat <&3' "${url%%/*}" "${url#*/}/v1/messages" "${header:-x-api-key}" "${credential:-$ANTHROPIC_API_KEY}" "$body"
}
"#;

fn fixture(script: &str) -> RunFixture {
    RunFixture::new(&format!("{ASK}{script}"))
}

/// Runs the client with a provider and the person's key in its environment.
fn run(fixture: &RunFixture, provider: &Provider, flags: &[&str]) -> RunEnd {
    let mut command = fixture.command(flags);
    command.env("ANTHROPIC_BASE_URL", format!("http://{}", provider.address)).env("ANTHROPIC_API_KEY", KEY);
    finish(command.spawn().unwrap())
}

pub(super) fn spent(ran: &RunEnd) -> u64 {
    ran.report["spent"]["micro_usd"].as_u64().unwrap_or_else(|| panic!("{}", ran.stderr))
}

/// What the workspace's ledger says.
pub(super) fn cost(fixture: &RunFixture, more: &[&str]) -> serde_json::Value {
    let (_, text) = output(fixture.verb(&[&["cost", "--json"], more].concat()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn gate_8_a_runs_calls_are_booked_on_its_session_and_its_key_stays_with_the_gateway() {
    let provider = Provider::new(|_, socket| say(socket, "200 OK", "application/json", message(1_000, 200).as_bytes()));
    let fixture =
        fixture("begin; env > $HOME/seen; ask > $HOME/reply; ask > $HOME/reply; tool 'echo hi'; finish; exit 0");
    let ran = run(&fixture, &provider, &["--budget", "1usd"]);
    ran.ended(0);
    // 1,000 tokens in at $3 and 200 out at $15 a million.
    assert_eq!(spent(&ran), 2 * (3_000 + 3_000), "{}", ran.stderr);
    let gateway = &ran.report["gateway"];
    assert_eq!((&gateway["state"], &gateway["calls"]), (&"on".into(), &2.into()), "{gateway}");
    assert_eq!((&gateway["bounded"], &gateway["credential"]), (&true.into(), &"brokered".into()), "{gateway}");
    let seen = provider.last();
    assert!(
        seen.head.contains(&format!("x-api-key: {KEY}")) && seen.head.starts_with("POST /v1/messages HTTP"),
        "{seen:?}"
    );
    assert!(fixture.home_text("reply").contains("\"text\":\"Done.\""));
    let told = fixture.home_text("seen");
    assert!(told.contains("ANTHROPIC_BASE_URL=http://127.0.0.1:") && !told.contains(KEY), "{told}");
    let session = ran.report["session"].as_str().unwrap();
    let lines = cost(&fixture, &[session]);
    assert_eq!((&lines["micro_usd"], lines["calls"].as_array().unwrap().len()), (&12_000.into(), 2), "{lines}");
    let path = &lines["calls"][0]["call"]["path"];
    assert_eq!((&path[0]["kind"], &path[1]["kind"], &path[2]), (&"agent".into(), &"session".into(), &Value::Null));
    assert_eq!(path[0]["name"], format!("{session}/without-tools"), "it offers none");
    assert!(!everything(fixture.place()).contains(KEY), "no file of ours holds the key");
}

#[test]
fn gate_8_a_runs_budget_is_never_exceeded_and_what_it_does_not_pay_for_is_not_asked() {
    let provider = Provider::new(|_, socket| say(socket, "200 OK", "application/json", message(500, 1_000).as_bytes()));
    let fixture = fixture(
        "begin; for n in 1 2 3 4 5 6 7 8 9; do ask > $HOME/reply$n; head -1 $HOME/reply$n >> $HOME/heads; done
         grep -q '403 Forbidden' $HOME/heads && exit 1; finish; exit 0",
    );
    let ran = run(&fixture, &provider, &["--budget", "0.05usd"]);
    ran.ended(6);
    assert!(spent(&ran) <= 50_000, "{}", ran.stderr);
    // Each call costs $0.0165, and the third finds its limit lowered to what is left.
    assert!((2..=4).contains(&provider.requests()), "{}", provider.requests());
    assert!(provider.last().body.contains("\"max_tokens\":"), "{:?}", provider.last());
    let refused = fixture.home_text("reply9");
    assert!(refused.contains("permission_error") && refused.contains("left of the budget of `session"), "{refused}");
    assert_eq!(cost(&fixture, &[])["micro_usd"], spent(&ran), "one truth");
    let rich = self::fixture("begin; ask > $HOME/reply; finish; exit 0");
    run(&rich, &provider, &["--budget", "5usd"]).ended(0);
}

#[test]
fn gate_8_parallel_calls_of_a_run_never_exceed_its_budget_together() {
    let provider = Provider::new(|_, socket| {
        std::thread::sleep(std::time::Duration::from_millis(100));
        say(socket, "200 OK", "application/json", message(100, 900).as_bytes());
    });
    let fixture = fixture(
        "begin; for n in 1 2 3 4 5 6 7 8; do ask > $HOME/reply$n & done; wait
         tool 'echo hi'; finish; exit 0",
    );
    let ran = run(&fixture, &provider, &["--budget", "0.06usd"]);
    assert!(spent(&ran) <= 60_000, "{}", ran.stderr);
    assert_eq!(cost(&fixture, &[])["micro_usd"], spent(&ran));
    let booked = u64::try_from(cost(&fixture, &[])["calls"].as_array().unwrap().len()).unwrap();
    assert_eq!((booked, ran.report["gateway"]["calls"].as_u64()), (provider.requests() as u64, Some(booked)));
    assert!(booked < 8, "some did not fit");
}

/// Eight agents at once, each with its own beginning, and a ninth request that offers no tools.
const AGENTS: &str = r#"begin
for n in 1 2 3 4 5 6 7 8; do
  ask '{"model":"claude-sonnet-4-5","max_tokens":1000,"tools":[{"name":"t"}],"messages":[{"role":"user","content":"part '$n'"}]}' > $HOME/reply$n &
done; wait; ask > $HOME/reply9; tool 'echo hi'; finish; exit 0"#;

/// What each agent's account and the session's have, by the calls of a session.
fn accounts(fixture: &RunFixture, session: &str) -> (Vec<(String, u64)>, u64) {
    let lines = cost(fixture, &[session]);
    let (mut agents, mut of_session) = (Vec::new(), 0);
    for account in lines["accounts"].as_array().unwrap() {
        let (name, sum) = (account["account"]["name"].as_str().unwrap(), account["micro_usd"].as_u64().unwrap());
        match account["account"]["kind"].as_str().unwrap() {
            "agent" => agents.push((name.trim_start_matches(&format!("{session}/")).to_owned(), sum)),
            kind => {
                assert_eq!((kind, name), ("session", session));
                of_session = sum;
            }
        }
    }
    (agents, of_session)
}

#[test]
fn gate_8_parallel_sub_agents_of_a_run_have_accounts_and_never_exceed_its_budget_together() {
    let provider = Provider::new(|_, socket| {
        std::thread::sleep(std::time::Duration::from_millis(100));
        say(socket, "200 OK", "application/json", message(100, 900).as_bytes());
    });
    let fixture = fixture(AGENTS);
    let ran = run(&fixture, &provider, &["--budget", "0.06usd"]);
    assert!(spent(&ran) <= 60_000 && spent(&ran) > 0, "{}", ran.stderr);
    assert!(provider.requests() < 9, "some did not fit");
    let (agents, of_session) = accounts(&fixture, ran.report["session"].as_str().unwrap());
    assert_eq!(of_session, spent(&ran));
    assert_eq!(agents.iter().map(|(_, sum)| sum).sum::<u64>(), of_session, "{agents:?}");
}

#[test]
fn gate_8_sub_agents_whose_work_the_budget_pays_for_all_work_and_each_has_its_sum() {
    let provider = Provider::new(|_, socket| say(socket, "200 OK", "application/json", message(100, 900).as_bytes()));
    let fixture = fixture(AGENTS);
    let ran = run(&fixture, &provider, &["--budget", "5usd"]);
    ran.ended(0);
    assert_eq!(provider.requests(), 9);
    let (agents, of_session) = accounts(&fixture, ran.report["session"].as_str().unwrap());
    // 100 tokens in at $3 and 900 out at $15 a million.
    assert!(agents.iter().all(|(_, sum)| *sum == 13_800), "{agents:?}");
    assert_eq!((agents.len(), of_session, spent(&ran)), (9, 9 * 13_800, 9 * 13_800), "{agents:?}");
    assert_eq!(agents.iter().filter(|(name, _)| name == "main").count(), 1);
    assert_eq!(agents.iter().filter(|(name, _)| name.starts_with("conversation-")).count(), 7);
    let (_, text) = output(fixture.verb(&["cost", ran.report["session"].as_str().unwrap()]));
    assert!(text.contains("/main") && text.contains("together $0.1242"), "{text}");
}

#[test]
fn gate_8_a_login_passes_and_the_report_says_that_it_is_not_brokered() {
    let provider = Provider::new(|_, socket| say(socket, "200 OK", "application/json", message(10, 10).as_bytes()));
    let fixture =
        fixture("header=authorization; credential='Bearer oauth-1'; begin; ask > $HOME/reply; finish; exit 0");
    let mut command = fixture.command(&[]);
    command.env("ANTHROPIC_BASE_URL", format!("http://{}", provider.address));
    let ran = finish(command.spawn().unwrap());
    ran.ended(0);
    assert!(provider.last().head.contains("authorization: Bearer oauth-1"), "{:?}", provider.last());
    assert_eq!(ran.report["gateway"]["credential"], "credential not brokered");
    assert_eq!(spent(&ran), 180);
}

#[test]
fn without_a_gateway_the_client_asks_directly_and_the_report_says_so() {
    let provider = Provider::new(|_, socket| {
        say(socket, "200 OK", "application/json", message(10, 10).as_bytes());
        let _gone = socket.shutdown(std::net::Shutdown::Both);
    });
    let fixture = fixture("begin; env > $HOME/seen; ask > $HOME/reply; finish; exit 0");
    let ran = run(&fixture, &provider, &["--no-gateway"]);
    ran.ended(0);
    assert_eq!((&ran.report["gateway"]["state"], spent(&ran)), (&"off".into(), 0), "{}", ran.report);
    assert!(fixture.home_text("seen").contains(&format!("ANTHROPIC_API_KEY={KEY}")));
    let mut command = fixture.verb(&["run", "--no-gateway", "--"]);
    let ran = finish(command.arg(fixture.client()).args(["-p", "x"]).spawn().unwrap());
    assert!(ran.stderr.contains("gateway   off (`--no-gateway`)"), "{}", ran.stderr);
}

#[test]
fn const_5_a_client_that_asks_another_cloud_is_named_before_it_starts() {
    let fixture = fixture("begin; tool 'echo hi'; finish; exit 0");
    let mut command = fixture.verb(&["run", "--"]);
    command.arg(fixture.client()).args(["-p", "x"]).env("CLAUDE_CODE_USE_BEDROCK", "1");
    let ran = finish(command.spawn().unwrap());
    let (named, report) =
        (ran.stderr.find("CLAUDE_CODE_USE_BEDROCK"), ran.stderr.find("  gateway   not every call was seen"));
    assert!(named.is_some() && named < report, "{}", ran.stderr);
}

#[test]
fn gate_8_a_client_that_spends_past_the_gateway_is_counted_by_its_record_and_reported() {
    let answer = "{\"type\":\"assistant\",\"message\":{\"id\":\"m%s\",\"type\":\"message\",\"role\":\"assistant\",\
        \"model\":\"claude-opus-4-5\",\"content\":[],\"usage\":{\"input_tokens\":1000,\"output_tokens\":2000}}}\\n";
    let script = format!(
        "begin; [ -n \"$through\" ] && ask > $HOME/reply; tool 'echo one'; printf '{answer}' 1 >> $record; tool 'echo two'; finish; exit 0"
    );
    let provider = Provider::new(|_, socket| say(socket, "200 OK", "application/json", message(10, 10).as_bytes()));
    let past = fixture(&script);
    let ran = run(&past, &provider, &[]);
    ran.ended(0);
    assert_eq!(ran.report["gateway"]["state"], "bypassed");
    assert!(spent(&ran) > 50_000, "{}", ran.report);
    let through = fixture(&format!("through=yes; {script}"));
    let ran = run(&through, &provider, &[]);
    ran.ended(0);
    assert_eq!((spent(&ran), &ran.report["gateway"]["state"]), (180, &"on".into()), "counted once: {}", ran.report);
}

#[test]
fn const_5_the_address_of_a_run_is_secret_and_ends_with_it() {
    let provider = Provider::new(|_, socket| say(socket, "200 OK", "application/json", message(10, 10).as_bytes()));
    let fixture = fixture(
        "begin; echo $ANTHROPIC_BASE_URL > $HOME/address
         right=$ANTHROPIC_BASE_URL; ANTHROPIC_BASE_URL=${right%/*/*}/tw-guessed/anthropic; ask > $HOME/guessed
         ANTHROPIC_BASE_URL=${right%/*/*}/anthropic; ask > $HOME/open; finish; exit 0",
    );
    let ran = run(&fixture, &provider, &[]);
    ran.ended(0);
    for name in ["guessed", "open"] {
        assert!(fixture.home_text(name).starts_with("HTTP/1.1 404"), "{name}: {}", fixture.home_text(name));
    }
    assert_eq!(provider.requests(), 0);
    let address = fixture.home_text("address");
    let port = address.trim().trim_start_matches("http://").split('/').next().unwrap().to_owned();
    assert!(std::net::TcpStream::connect(port).is_err(), "nobody listens any more");
}

#[test]
fn const_5_the_address_alone_does_not_spend_the_persons_key() {
    let provider = Provider::new(|_, socket| say(socket, "200 OK", "application/json", message(10, 10).as_bytes()));
    let fixture = fixture("credential=stranger; begin; ask > $HOME/reply; finish; exit 0");
    let ran = run(&fixture, &provider, &[]);
    ran.ended(0);
    let head = provider.last().head;
    assert!(head.contains("x-api-key: stranger") && !head.contains(KEY), "{head}");
    assert_eq!(ran.report["gateway"]["credential"], "credential not brokered", "{}", ran.report);
}

#[test]
fn ctrl_1_a_stop_cuts_the_streams_of_a_run_and_books_what_came() {
    let said = Arc::new(AtomicUsize::new(0));
    let counting = Arc::clone(&said);
    let provider = Provider::new(move |_, socket| {
        begin_stream(socket);
        chunk(
            socket,
            "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"model\":\"claude-sonnet-4-5\",\"usage\":{\"input_tokens\":50,\"output_tokens\":1}}}\n\n",
        );
        for number in 0..2_000 {
            let delta = format!(
                "event: content_block_delta\ndata: {{\"type\":\"content_block_delta\",\"delta\":{{\"text\":\"word {number} of a story \"}}}}\n\n"
            );
            if !chunk(socket, &delta) {
                return;
            }
            counting.fetch_add(1, Ordering::SeqCst);
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    });
    let ask = r#"{"model":"claude-sonnet-4-5","max_tokens":1000,"stream":true,"messages":[]}"#;
    let fixture = fixture(&format!("begin; ask '{ask}' > $HOME/reply; finish; exit 0"));
    let mut command = fixture.command(&[]);
    command.env("ANTHROPIC_BASE_URL", format!("http://{}", provider.address)).env("ANTHROPIC_API_KEY", KEY);
    let child = command.spawn().unwrap();
    crate::run::fixture::wait_until("a stream", || said.load(Ordering::SeqCst) > 20);
    assert!(fixture.verb(&["stop", "--reason", "enough"]).output().unwrap().status.success());
    let ran = finish(child);
    ran.ended(10);
    assert!(said.load(Ordering::SeqCst) < 1_900, "it was cut");
    let call = &cost(&fixture, &[])["calls"][0]["call"];
    assert!(["stopped", "cancelled"].contains(&call["end"].as_str().unwrap()), "{call}");
    assert!(spent(&ran) > 150, "what came was paid for: {}", ran.report);
    assert_eq!(cost(&fixture, &[])["micro_usd"], spent(&ran), "and it is in the run's own figure");
}

#[test]
fn gate_8_two_runs_in_one_workspace_share_its_ledger_and_not_their_budgets() {
    let provider = Provider::new(|_, socket| {
        std::thread::sleep(std::time::Duration::from_millis(20));
        say(socket, "200 OK", "application/json", message(1_000, 200).as_bytes());
    });
    let fixture = fixture("begin; for n in 1 2 3 4 5 6; do ask > /dev/null; done; finish; exit 0");
    let start = || {
        let mut command = fixture.command(&["--budget", "0.05usd"]);
        command.env("ANTHROPIC_BASE_URL", format!("http://{}", provider.address)).env("ANTHROPIC_API_KEY", KEY);
        command.spawn().unwrap()
    };
    let both = [start(), start()].map(finish);
    for ran in &both {
        assert_eq!(spent(ran), 36_000, "{}", ran.stderr);
        let session = ran.report["session"].as_str().unwrap();
        assert_eq!(cost(&fixture, &[session])["micro_usd"], 36_000);
    }
    assert_eq!(cost(&fixture, &[])["micro_usd"], 72_000);
}

#[test]
fn gate_8_a_provider_that_charges_more_than_was_reserved_ends_the_run_at_its_budget() {
    let provider =
        Provider::new(|_, socket| say(socket, "200 OK", "application/json", message(100, 90_000).as_bytes()));
    let fixture =
        fixture("begin; ask > $HOME/one; ask > $HOME/two; grep -q '200 OK' $HOME/two || exit 1; finish; exit 0");
    let ran = run(&fixture, &provider, &["--budget", "5usd"]);
    ran.ended(6);
    assert_eq!(provider.requests(), 1, "the account is closed");
    assert!(ran.report["notes"].to_string().contains("RESERVE_SHORT"), "{}", ran.report);
    assert_eq!(spent(&ran), 300 + 1_350_000, "what was charged is booked");
}
