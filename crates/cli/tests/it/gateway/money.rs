//! Counting, pricing, budgets, keys.

use super::support::{
    Gateway, PROVIDER_KEY, Provider, TOKEN, begin_stream, chunk, config, everything, message, say, until,
};
use std::io::{Read as _, Write as _};

const ASK: &str = r#"{"model":"claude-sonnet-4-5","max_tokens":1000,"messages":[{"role":"user","content":"hi"}]}"#;

fn replies(input: u64, output: u64) -> Provider {
    Provider::new(move |_, socket| say(socket, "200 OK", "application/json", message(input, output).as_bytes()))
}

#[test]
fn gate_8_gateway_a_call_is_priced_to_the_micro_dollar_and_its_key_is_brokered() {
    let provider = replies(1_000, 200);
    let gateway = Gateway::start(&config(&provider, "team = \"web\"\n[[team]]\nname = \"web\""));
    let reply = gateway.post("/anthropic/v1/messages?beta=true", ASK);
    assert_eq!((reply.status, reply.body.as_str(), reply.is_whole), (200, message(1_000, 200).as_str(), true));
    let seen = provider.last();
    assert_eq!(seen.body, ASK, "without a budget the body is the client's");
    assert!(seen.head.starts_with("POST /v1/messages?beta=true HTTP/1.1\r\n"), "{}", seen.head);
    assert!(seen.head.contains(PROVIDER_KEY) && !seen.head.contains(TOKEN), "{}", seen.head);
    assert!(seen.head.contains(&format!("host: {}", provider.address)), "{}", seen.head);
    // 1,000 x $3 and 200 x $15 a million.
    assert_eq!(gateway.spent(), 3_000 + 3_000);
    let usage = gateway.json(&["gateway", "usage"]);
    let row = &usage["rows"][0];
    assert_eq!((row["key"].as_str(), row["team"].as_str()), (Some("ci"), Some("web")));
    assert_eq!((row["model"].as_str(), row["estimated"].as_u64()), (Some("claude-sonnet-4-5"), Some(0)));
    let all = format!("{}{}", everything(&gateway.workspace()), gateway.stderr());
    assert!(!all.contains(TOKEN) && !all.contains(PROVIDER_KEY) && !all.contains("Done."), "nothing secret is kept");
}

#[test]
fn gate_8_gateway_a_stream_reaches_the_client_byte_for_byte_and_is_booked() {
    let events = [
        "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"model\":\"claude-sonnet-4-5\",\"usage\":{\"input_tokens\":100,\"output_tokens\":1}}}\n\n",
        ": comment\r\n\r\nevent: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"text\":\"grüße\"}}\n\n",
        "event: message_delta\ndata: {\"type\":\"message_delta\",\"usage\":{\"output_tokens\":40}}\n\n",
        "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
    ];
    let provider = Provider::new(move |_, socket| {
        begin_stream(socket);
        for event in events {
            let (one, two) = event.split_at(17);
            chunk(socket, one);
            chunk(socket, two);
        }
        let _gone = std::io::Write::write_all(socket, b"0\r\n\r\n");
    });
    let gateway = Gateway::start(&config(&provider, ""));
    let reply = gateway.post("/anthropic/v1/messages", ASK);
    assert_eq!((reply.body, reply.is_whole), (events.concat(), true));
    assert_eq!(gateway.spent(), 300 + 600);
    let first = &gateway.json(&["cost"])["calls"][0];
    assert_eq!(first["call"]["end"], "complete");
    let explained = gateway.verb(&["cost", "--explain", &first["line"].to_string()]);
    let text = String::from_utf8(explained.stdout).unwrap();
    assert!(text.contains("fresh input") && text.contains("100 x $3.000/M"), "{text}");
    assert_eq!(gateway.verb(&["cost", "--explain", "999"]).status.code(), Some(2));
}

#[test]
fn gate_8_gateway_a_chat_stream_tells_its_usage_to_us_and_not_to_a_client_that_did_not_ask() {
    let text = "data: {\"model\":\"gpt-4o\",\"choices\":[{\"delta\":{\"content\":\"hi\"}}]}\n\n";
    let end = "data: {\"model\":\"gpt-4o\",\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
    let usage = "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":100,\"completion_tokens\":10}}\n\n";
    let provider = Provider::new(move |seen, socket| {
        begin_stream(socket);
        chunk(socket, text);
        chunk(socket, end);
        if seen.body.contains("\"include_usage\":true") {
            chunk(socket, usage);
        }
        chunk(socket, "data: [DONE]\n\n");
        let _gone = std::io::Write::write_all(socket, b"0\r\n\r\n");
    });
    let gateway = Gateway::start(&config(&provider, ""));
    let bearer = format!("authorization: Bearer {TOKEN}\r\n");
    let silent = r#"{"model":"gpt-4o","stream":true,"messages":[]}"#;
    let reply = gateway.send("POST", "/openai/v1/chat/completions", &bearer, silent);
    assert_eq!(reply.body, format!("{text}{end}data: [DONE]\n\n"));
    assert!(provider.last().head.starts_with("POST /v1/chat/completions "), "{}", provider.last().head);
    assert_eq!(gateway.spent(), 250 + 100);
    let asking = r#"{"model":"gpt-4o","stream":true,"stream_options":{"include_usage":true},"messages":[]}"#;
    let reply = gateway.send("POST", "/openai/v1/chat/completions", &bearer, asking);
    assert_eq!(reply.body, format!("{text}{end}{usage}data: [DONE]\n\n"));
    assert_eq!((gateway.spent(), provider.last().body.as_str()), (700, asking));
}

#[test]
fn gate_8_gateway_a_budget_lowers_the_output_limit_and_is_never_exceeded() {
    // The provider answers with as many tokens as it is allowed to.
    let provider = Provider::new(|seen, socket| {
        let asked: serde_json::Value = serde_json::from_str(&seen.body).unwrap();
        say(socket, "200 OK", "application/json", message(60, asked["max_tokens"].as_u64().unwrap()).as_bytes());
    });
    let gateway = Gateway::start(&config(&provider, "budget = \"0.02usd\""));
    let mut passed = 0;
    let last = loop {
        let reply = gateway.post("/anthropic/v1/messages", ASK);
        if reply.status != 200 {
            break reply;
        }
        passed += 1;
        assert!(gateway.spent() <= 20_000, "{}", gateway.spent());
    };
    assert_eq!((last.status, last.json()["error"]["type"].as_str()), (403, Some("permission_error")));
    let reason = last.json()["error"]["message"].as_str().unwrap().to_owned();
    assert!(reason.contains("key ci") && reason.contains("tripwire gateway usage"), "{reason}");
    assert_eq!(passed, provider.requests(), "what was refused never left");
    assert!((2..40).contains(&passed), "{passed}");
    let lowered = provider.last().body;
    assert!(lowered.starts_with(r#"{"model":"claude-sonnet-4-5","max_tokens":"#), "{lowered}");
    assert!(lowered.ends_with(r#","messages":[{"role":"user","content":"hi"}]}"#), "{lowered}");
    assert_eq!(gateway.json(&["gateway", "usage"])["refused"], 1);
}

#[test]
fn gate_8_gateway_parallel_calls_share_a_budget_without_overshooting_it() {
    let provider = Provider::new(|seen, socket| {
        std::thread::sleep(std::time::Duration::from_millis(30));
        let asked: serde_json::Value = serde_json::from_str(&seen.body).unwrap();
        say(socket, "200 OK", "application/json", message(60, asked["max_tokens"].as_u64().unwrap()).as_bytes());
    });
    let team = "team = \"web\"\nbudget = \"1usd/day\"\n[[team]]\nname = \"web\"\nbudget = \"0.05usd/month\"";
    let gateway = Gateway::start(&config(&provider, team));
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let calls: Vec<_> =
            (0..12).map(|_| scope.spawn(|| gateway.post("/anthropic/v1/messages", ASK).status)).collect();
        calls.into_iter().map(|call| call.join().unwrap()).collect()
    });
    let passed = statuses.iter().filter(|status| **status == 200).count();
    assert!(passed >= 2 && statuses.contains(&403), "{statuses:?}");
    assert_eq!(passed, provider.requests());
    assert!(gateway.spent() <= 50_000 && gateway.spent() > 30_000, "{}", gateway.spent());
}

#[test]
fn gate_8_gateway_every_api_refuses_in_its_own_words() {
    let provider = replies(1, 1);
    let key = "budget = \"0.000001usd\"\nmodels = [\"claude-*\", \"gpt-*\", \"gemini-*\"]";
    let gateway = Gateway::start(&config(&provider, key));
    let gemini = "/gemini/v1beta/models/gemini-2.5-pro:generateContent";
    let as_query = format!("{gemini}?key={TOKEN}");
    for (path, body, place, word) in [
        ("/anthropic/v1/messages", ASK, "/error/type", "permission_error"),
        ("/openai/v1/responses", r#"{"model":"gpt-5","input":"x"}"#, "/error/type", "permission_error"),
        (gemini, r#"{"contents":[]}"#, "/error/status", "PERMISSION_DENIED"),
        (as_query.as_str(), r#"{"contents":[]}"#, "/error/status", "PERMISSION_DENIED"),
        ("/openai/v1/images/generations", r#"{"model":"gpt-5"}"#, "/error/type", "permission_error"),
        ("/anthropic/v1/messages/batches", "{}", "/error/type", "permission_error"),
    ] {
        let headers = if path.contains("?key=") { String::new() } else { format!("x-api-key: {TOKEN}\r\n") };
        let reply = gateway.send("POST", path, &headers, body);
        assert_eq!((reply.status, reply.json().pointer(place).unwrap().as_str()), (403, Some(word)), "{path}");
    }
    for (path, place, word) in [
        ("/anthropic/v1/messages", "/error/type", "authentication_error"),
        (gemini, "/error/status", "UNAUTHENTICATED"),
    ] {
        for headers in ["", "x-api-key: wrong\r\n", "authorization: Bearer wrong\r\n"] {
            let reply = gateway.send("POST", path, headers, ASK);
            assert_eq!((reply.status, reply.json().pointer(place).unwrap().as_str()), (401, Some(word)), "{path}");
        }
    }
    let other = gateway.post("/anthropic/v1/messages", r#"{"model":"llama-3","messages":[]}"#);
    assert!(other.status == 403 && other.body.contains("may not ask the model `llama-3`"), "{other:?}");
    assert_eq!(provider.requests(), 0);
    assert!(!everything(&gateway.workspace()).contains(TOKEN), "a token in a URL is not kept");
    assert!(!gateway.stderr().contains(TOKEN));
}

#[test]
fn gate_8_gateway_a_key_that_asks_too_often_is_told_when_to_come_back() {
    let provider = replies(1, 1);
    let gateway = Gateway::start(&config(&provider, "requests_per_minute = 2"));
    for expected in [200, 200, 429] {
        let reply = gateway.post("/anthropic/v1/messages", ASK);
        assert_eq!(reply.status, expected);
        let wait = reply.header("retry-after").map(|wait| wait.parse::<u64>().unwrap());
        assert_eq!(wait.is_some_and(|wait| (1..=60).contains(&wait)), expected == 429, "{wait:?}");
    }
}

#[test]
fn gate_8_gateway_free_paths_pass_and_an_unpriced_one_only_where_it_is_allowed() {
    let provider = Provider::new(|_, socket| say(socket, "200 OK", "application/json", b"{\"data\":[]}"));
    let text = config(&provider, "budget = \"1usd\"");
    let gateway = Gateway::start(&text);
    let headers = format!("x-api-key: {TOKEN}\r\n");
    assert_eq!(gateway.send("GET", "/anthropic/v1/models", &headers, "").status, 200);
    assert_eq!(gateway.send("POST", "/anthropic/v1/messages/count_tokens", &headers, "{}").status, 200);
    let refused = gateway.send("POST", "/openai/v1/embeddings", &headers, "{}");
    assert!(refused.status == 403 && refused.body.contains("unpriced = \\\"allow\\\""), "{refused:?}");
    assert_eq!((provider.requests(), gateway.spent()), (2, 0));
    let allowed = text.replace("name = \"openai\"", "name = \"openai\"\nunpriced = \"allow\"");
    let gateway = Gateway::start(&allowed);
    assert_eq!(gateway.send("POST", "/openai/v1/embeddings", &headers, "{}").status, 200);
    let notes = gateway.json(&["gateway", "usage"])["notes"].clone();
    assert_eq!(notes[0]["kind"], "UNPRICED", "{notes}");
}

#[test]
fn gate_8_gateway_a_reply_in_the_background_is_refused_also_where_paths_without_a_price_are_allowed() {
    let provider = replies(1, 1);
    let text = config(&provider, "").replace("name = \"openai\"", "name = \"openai\"\nunpriced = \"allow\"");
    let gateway = Gateway::start(&text);
    let ask = |background: &str| {
        let body = format!(r#"{{"model":"gpt-5","input":"x","background":{background}}}"#);
        gateway.post("/openai/v1/responses", &body)
    };
    let refused = ask("true");
    assert!(refused.status == 403 && refused.body.contains("leave `background` out"), "{refused:?}");
    assert!(!refused.body.contains("unpriced"), "{refused:?}");
    assert_eq!((provider.requests(), ask("false").status, provider.requests()), (0, 200, 1));
}

#[test]
fn gate_8_gateway_a_call_that_is_left_costs_its_reservation_and_a_stream_what_can_have_been_made_meanwhile() {
    for (stream, least, most) in [(false, 1_000_000, 1_100_000), (true, 1, 900_000)] {
        // It thinks for as long as somebody waits.
        let provider = Provider::new(|_, socket| drop(socket.read(&mut [0])));
        let gateway = Gateway::start(&config(&provider, "budget = \"3usd/day\""));
        let body = format!(r#"{{"model":"gpt-5","max_output_tokens":100000,"input":"x","stream":{stream}}}"#);
        let mut socket = gateway.connect();
        let head = format!("host: {}\r\nx-api-key: {TOKEN}\r\ncontent-length: {}", gateway.address, body.len());
        write!(socket, "POST /openai/v1/responses HTTP/1.1\r\n{head}\r\n\r\n{body}").unwrap();
        until("the request is there", || provider.requests() == 1);
        drop(socket);
        until("it is booked", || gateway.spent() > 0);
        let spent = gateway.spent();
        assert!((least..most).contains(&spent), "stream {stream}: {spent}");
    }
}

#[test]
fn gate_8_gateway_a_closed_account_lets_no_path_without_a_price_pass() {
    // It said nothing of a thousand tokens of output, and charges for a million.
    let provider = replies(1_000_000, 1_000_000);
    let gateway = Gateway::start(&config(&provider, "budget = \"1usd/day\""));
    gateway.post("/anthropic/v1/messages", ASK);
    let refused = gateway.post("/anthropic/v1/messages", ASK);
    assert!(refused.status == 403 && refused.body.contains("closed"), "{refused:?}");
    let asked = provider.requests();
    assert_eq!(gateway.post("/openai/v1/embeddings", "{}").status, 403);
    assert_eq!(provider.requests(), asked);
}

#[test]
fn gate_8_gateway_what_holds_for_priced_paths_is_not_got_around_by_one_without_a_price() {
    let provider = Provider::new(|_, socket| say(socket, "200 OK", "application/json", b"{}"));
    for (key, word) in [("models = [\"claude-*\"]", "`models`"), ("tokens_per_minute = 1000", "`tokens_per_minute`")] {
        let refused = Gateway::start(&config(&provider, key)).post("/openai/v1/embeddings", "{}");
        assert!(refused.status == 403 && refused.body.contains(word), "{key}: {refused:?}");
        assert!(refused.body.contains("unpriced = \\\"allow\\\""), "{refused:?}");
        assert_eq!(provider.requests(), 0);
    }
}

#[test]
fn gate_8_gateway_a_path_without_a_price_passes_where_nothing_is_got_around_or_it_is_allowed() {
    let provider = Provider::new(|_, socket| say(socket, "200 OK", "application/json", b"{}"));
    let plain = config(&provider, "");
    let allowed = config(&provider, "models = [\"claude-*\"]\ntokens_per_minute = 1000")
        .replace("key_env", "unpriced = \"allow\"\nkey_env");
    for (text, path) in [
        (plain.clone(), "/openai/v1/embeddings"),
        (plain, "/anthropic/v1/messages/batches"),
        (allowed, "/anthropic/v1/messages/batches"),
    ] {
        assert_eq!(Gateway::start(&text).post(path, "{}").status, 200, "{path}");
    }
}

/// A provider that answers only when it may.
fn waiting(may_answer: std::sync::mpsc::Receiver<()>) -> Provider {
    let may_answer = std::sync::Mutex::new(may_answer);
    Provider::new(move |_, socket| {
        may_answer.lock().unwrap().recv().unwrap();
        say(socket, "200 OK", "application/json", message(10, 10).as_bytes());
    })
}

#[test]
fn gate_8_gateway_tokens_of_a_minute_hold_for_calls_at_the_same_time_too() {
    let (answer, may_answer) = std::sync::mpsc::channel();
    let provider = waiting(may_answer);
    let gateway = Gateway::start(&config(&provider, "tokens_per_minute = 1000"));
    std::thread::scope(|scope| {
        let first = scope.spawn(|| gateway.post("/anthropic/v1/messages", ASK).status);
        super::support::until("it arrived", || provider.requests() == 1);
        let second = gateway.post("/anthropic/v1/messages", ASK);
        assert_eq!((second.status, second.header("retry-after")), (429, Some("1")), "{second:?}");
        assert_eq!(provider.requests(), 1);
        answer.send(()).unwrap();
        assert_eq!(first.join().unwrap(), 200);
    });
}

#[test]
fn gate_8_gateway_calls_whose_tokens_fit_a_minute_together_pass_and_one_leaves_what_it_did_not_use() {
    let (answer, may_answer) = std::sync::mpsc::channel();
    let provider = waiting(may_answer);
    let gateway = Gateway::start(&config(&provider, "tokens_per_minute = 4000"));
    std::thread::scope(|scope| {
        let both = [(); 2].map(|()| scope.spawn(|| gateway.post("/anthropic/v1/messages", ASK).status));
        super::support::until("both arrived", || provider.requests() == 2);
        (0..4).for_each(|_| answer.send(()).unwrap());
        assert_eq!(both.map(|call| call.join().unwrap()), [200, 200]);
    });
    for _ in 0..2 {
        assert_eq!(gateway.post("/anthropic/v1/messages", ASK).status, 200);
    }
}

/// What a call of Gemini's with these contents is booked with, whose reply tells these figures.
fn gemini_call(contents: &str, usage: &str) -> serde_json::Value {
    let reply = format!(
        r#"{{"candidates":[{{"content":{{"parts":[{{"text":"Done."}}]}},"finishReason":"STOP"}}],"usageMetadata":{{{usage}}}}}"#
    );
    let provider = Provider::new(move |_, socket| say(socket, "200 OK", "application/json", reply.as_bytes()));
    let gateway = Gateway::start(&config(&provider, ""));
    let body = format!(r#"{{"contents":[{{"parts":[{contents}]}}],"generationConfig":{{"maxOutputTokens":100}}}}"#);
    let reply = gateway.post("/gemini/v1beta/models/gemini-2.5-flash:generateContent", &body);
    assert_eq!(reply.status, 200, "{reply:?}");
    let line = &gateway.json(&["cost"])["calls"][0];
    let text = gateway.verb(&["cost", "--explain", &line["line"].to_string()]).stdout;
    let text = String::from_utf8(text).unwrap();
    assert_eq!(text.contains("audio"), line["call"]["audio"].is_object(), "{text}");
    assert!(!text.contains("with tiers"), "the classes are all of the sum: {text}");
    line["call"].clone()
}

const SPOKEN: &str = r#"{"inlineData":{"mimeType":"audio/wav","data":"AAAA"}},{"text":"what is said?"}"#;

#[test]
fn gate_8_gateway_audio_is_reserved_and_booked_at_its_own_price() {
    let figures = r#""promptTokenCount":1000,"candidatesTokenCount":10"#;
    let kinds = r#""promptTokensDetails":[{"modality":"TEXT","tokenCount":200},{"modality":"AUDIO","tokenCount":800}]"#;
    let call = gemini_call(SPOKEN, &format!("{figures},{kinds}"));
    // 200 x $0.3, 800 x $1 and 10 x $2.5 a million; the whole window may be audio.
    assert_eq!(call["microUsd"], 60 + 800 + 25, "{call}");
    assert_eq!(call["reserved"], 1_048_576 + 250, "{call}");
    let cached = r#""cachedContentTokenCount":500,"cacheTokensDetails":[{"modality":"AUDIO","tokenCount":500}]"#;
    let call = gemini_call(SPOKEN, &format!("{figures},{kinds},{cached}"));
    // 500 of the 800 come from the cache, at $0.25.
    assert_eq!(call["microUsd"], 60 + 300 + 125 + 25, "{call}");
    let call = gemini_call(SPOKEN, figures);
    assert_eq!(call["microUsd"], 1_000 + 25, "nobody said that any of it was text: {call}");
}

#[test]
fn gate_8_gateway_text_and_pictures_are_reserved_and_booked_without_audio() {
    let figures = r#""promptTokenCount":1000,"candidatesTokenCount":10"#;
    let kinds = r#""promptTokensDetails":[{"modality":"TEXT","tokenCount":1000}]"#;
    let call = gemini_call(r#"{"text":"hi"}"#, figures);
    assert_eq!((call["microUsd"].as_u64(), call.get("audio")), (Some(300 + 25), None), "{call}");
    assert!(call["reserved"].as_u64() < Some(1_000), "{call}");
    let picture = r#"{"inlineData":{"mimeType":"image/png","data":"AAAA"}}"#;
    let call = gemini_call(picture, &format!("{figures},{kinds}"));
    assert_eq!((call["microUsd"].as_u64(), call.get("audio")), (Some(300 + 25), None), "{call}");
    // 1,048,576 x $0.3 a million, rounded up with the output's $0.00025.
    assert_eq!(call["reserved"], 314_823, "{call}");
}

/// A reply of Chat Completions.
const CHAT: &str = r#"{"model":"gpt-4o","choices":[{"message":{"content":"Done."},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":5}}"#;

#[test]
fn gate_8_gateway_a_search_of_chat_completions_is_booked_and_a_call_without_one_is_not() {
    let provider = Provider::new(|_, socket| say(socket, "200 OK", "application/json", CHAT.as_bytes()));
    let gateway = Gateway::start(&config(&provider, ""));
    let ask = |more: &str| {
        let before = gateway.spent();
        let body = format!(r#"{{"model":"gpt-4o","max_tokens":10,{more}"messages":[]}}"#);
        assert_eq!(gateway.post("/openai/v1/chat/completions", &body).status, 200);
        gateway.spent() - before
    };
    let plain = ask("");
    assert!(plain > 0 && plain < 1_000, "{plain}");
    assert_eq!(ask(r#""web_search_options":{},"#), plain + 35_000);
}

#[test]
fn gate_8_gateway_usage_counts_what_the_sums_do_not_show_and_says_nothing_without_it() {
    let provider = replies(10, 50_000);
    let gateway = Gateway::start(&config(&provider, ""));
    let shown = || String::from_utf8(gateway.verb(&["gateway", "usage"]).stdout).unwrap();
    assert_eq!(gateway.post("/anthropic/v1/messages", &ASK.replace("1000", "60000")).status, 200);
    assert!(!["UNPRICED", "RESERVE_SHORT", "FALLBACK"].iter().any(|kind| shown().contains(kind)), "{}", shown());
    for _ in 0..2 {
        assert_eq!(gateway.post("/openai/v1/embeddings", "{}").status, 200);
    }
    assert_eq!(gateway.post("/anthropic/v1/messages", ASK).status, 200);
    assert!(shown().contains("2 requests passed without a price (UNPRICED"), "{}", shown());
    assert!(shown().contains("1 call cost more than was reserved and closed an account (RESERVE_SHORT"), "{}", shown());
}
