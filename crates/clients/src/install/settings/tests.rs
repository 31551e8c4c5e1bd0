//! The text of settings with our hooks and without them.

use super::*;
use crate::client::Client;

fn form(client: Client) -> &'static HookSettings {
    client.adapter().settings
}

const COMMAND: &str = "'/opt/tripwire' hook claude || { echo 'tripwire: guard failed' >&2; exit 2; }";
const PERSONS: [&str; 7] = [
    "{}\n",
    "{\n  \"model\": \"m\"\n}\n",
    "{\n\t\"a\" : [1,2 ,3],\n\n\t\"hooks\": {\n\t\t\"Stop\": [ {\"hooks\":[{\"type\":\"command\",\"command\":\"mine\"}]} ]\n\t}\n}",
    "{\"hooks\":{}}",
    "\u{feff}{\r\n  \"x\": 1\r\n}\r\n",
    "{ \"hooks\": { \"PreToolUse\": [] }, \"b\": null }",
    "",
];
const RELAXED: [&str; 4] = [
    "{\n  // mine\n  \"a\": 1\n}\n",
    "{\n  /* mine */ \"a\": 1\n}\n",
    "{\n  \"a\": 1,\n}\n",
    "{\n  \"a\": [1,2,]\n}\n",
];

fn value(text: &str) -> serde_json::Value {
    parse(split_mark(text).1).unwrap().to_serde_value().unwrap_or_default()
}

#[test]
fn hooks_come_in_for_every_event_and_the_persons_text_stays() {
    for text in PERSONS {
        let edited = with_hooks(text, form(Client::Claude), COMMAND).unwrap();
        assert!(is_complete(&edited, form(Client::Claude)).unwrap(), "{edited}");
        assert_eq!(commands(&edited, form(Client::Claude)).unwrap(), vec![COMMAND; form(Client::Claude).events.len()]);
        for line in text.lines().map(str::trim).filter(|line| line.len() > 3 && !line.contains("hooks")) {
            assert!(edited.contains(line.trim_end_matches(['}', ','])), "`{line}` is lost in {edited}");
        }
        assert_eq!(
            with_hooks(&edited, form(Client::Claude), COMMAND).unwrap(),
            edited,
            "a second time changes nothing"
        );
    }
}

#[test]
fn without_them_the_settings_say_what_they_said_before() {
    for text in PERSONS {
        let edited = with_hooks(text, form(Client::Claude), COMMAND).unwrap();
        let mut before = value(text);
        // Empty lists and an empty object of hooks say nothing; they may go.
        if let Some(hooks) = before.get_mut("hooks").and_then(serde_json::Value::as_object_mut) {
            hooks.retain(|_, list| list.as_array().is_none_or(|list| !list.is_empty()));
            if hooks.is_empty() {
                before.as_object_mut().unwrap().remove("hooks");
            }
        }
        let after = value(&without_hooks(&edited, form(Client::Claude)).unwrap());
        assert_eq!(after, if before.is_null() { serde_json::json!({}) } else { before }, "{edited}");
    }
}

#[test]
fn hooks_of_an_older_place_are_replaced_and_foreign_ones_kept() {
    let old = COMMAND.replace("/opt", "/old");
    let text = with_hooks(PERSONS[2], form(Client::Claude), &old).unwrap();
    let edited = with_hooks(&text, form(Client::Claude), COMMAND).unwrap();
    assert!(!edited.contains("/old") && edited.contains("\"mine\""), "{edited}");
    assert_eq!(
        without_hooks(PERSONS[2], form(Client::Claude)).unwrap(),
        PERSONS[2],
        "nothing of ours: nothing changes"
    );
}

#[test]
fn every_client_gets_its_own_words() {
    for client in Client::ALL {
        let command = format!("'/opt/tripwire'{}", hook_command::call(client.name()));
        let edited = value(&with_hooks("", form(client), &command).unwrap());
        let hook = &edited["hooks"][form(client).events[0]][0]["hooks"][0];
        assert_eq!(hook["command"], command.as_str());
        let (timeout, closing) = match client {
            Client::Claude => (90, Some("block")),
            Client::Codex => (90, None),
            Client::Gemini => (90_000, None),
            Client::Opencode
            | Client::Qwen
            | Client::Aider
            | Client::AnthropicApi
            | Client::OpenAiApi
            | Client::GeminiApi
            | Client::Mcp => panic!("it has no hooks"),
        };
        assert_eq!((hook["timeout"].as_u64(), hook["onFailure"].as_str()), (Some(timeout), closing));
    }
}

#[test]
fn hooks_that_are_not_called_for_everything_or_not_heard_are_not_complete_and_are_mended() {
    for client in Client::ALL {
        let command = format!("'/opt/tripwire'{}", hook_command::call(client.name()));
        let right = with_hooks("", form(client), &command).unwrap();
        assert!(is_complete(&right, form(client)).unwrap(), "{right}");
        let longer = right.replace("90", "900");
        assert!(is_complete(&longer, form(client)).unwrap(), "a longer time is fine: {longer}");
        assert_eq!(with_hooks(&longer, form(client), &command).unwrap(), longer, "and stays");
        let mut wrong = vec![
            right.replacen("90", "9", 1),
            right.replacen("\"command\",", "\"command\", \"async\": true,", 1),
            right.replacen("\"type\": \"command\"", "\"type\": \"prompt\"", 1),
        ];
        match client {
            Client::Claude => wrong.extend([
                right.replace("\"*\"", "\"NoSuchTool\""),
                right.replacen("\"*\"", "\"Read\"", 1),
                right.replacen("\"block\"", "\"allow\"", 1),
            ]),
            Client::Gemini => wrong.push(right.replacen("\"*\"", "\"NoSuchTool\"", 1)),
            Client::Codex => wrong.push(right.replacen("\"hooks\": [{", "\"matcher\": \"x\", \"hooks\": [{", 1)),
            Client::Opencode
            | Client::Qwen
            | Client::Aider
            | Client::AnthropicApi
            | Client::OpenAiApi
            | Client::GeminiApi
            | Client::Mcp => panic!("it has no hooks"),
        }
        for text in wrong {
            if text == right {
                continue; // This client's form has another spelling of it.
            }
            assert!(!is_complete(&text, form(client)).unwrap(), "{text}");
            assert!(is_complete(&with_hooks(&text, form(client), &command).unwrap(), form(client)).unwrap(), "{text}");
        }
    }
}

#[test]
fn what_two_clients_ignore_is_refused_with_its_line_and_the_third_reads_it() {
    for text in RELAXED {
        for client in [Client::Claude, Client::Codex] {
            let error = with_hooks(text, form(client), COMMAND).unwrap_err();
            assert!(matches!(error, SettingsError::NotStrict { line: 2, .. }), "{text}");
            assert!(error.to_string().contains("with comments or trailing commas"), "{error}");
        }
        let command = COMMAND.replace("claude", "gemini");
        let edited = with_hooks(text, form(Client::Gemini), &command).unwrap();
        assert!(edited.starts_with(text.get(..12).unwrap()), "{edited}");
        assert_eq!(is_read(&edited, form(Client::Gemini).relaxed), Ok(()));
    }
    for text in PERSONS {
        assert_eq!(is_read(text, form(Client::Claude).relaxed), Ok(()), "{text}");
    }
}

#[test]
fn hooks_go_also_out_of_a_text_that_the_person_gave_a_comment() {
    let edited = with_hooks(PERSONS[1], form(Client::Claude), COMMAND).unwrap().replacen('{', "{ // mine", 1);
    let left = without_hooks(&edited, form(Client::Claude)).unwrap();
    assert!(left.starts_with("{ // mine\n  \"model\": \"m\"") && !left.contains("hooks"), "{left}");
}

#[test]
fn a_persons_hook_inside_our_entry_stays_and_does_not_make_it_incomplete() {
    let mut settings = value(&with_hooks("{}", form(Client::Claude), COMMAND).unwrap());
    let mine = serde_json::json!({"type": "command", "command": "my-audit.sh"});
    settings["hooks"]["PreToolUse"][0]["hooks"].as_array_mut().unwrap().insert(0, mine.clone());
    let text = serde_json::to_string_pretty(&settings).unwrap();
    assert!(is_complete(&text, form(Client::Claude)).unwrap());
    assert!(places(&text, form(Client::Claude)).unwrap().starts_with(&[("PreToolUse", 0, 1), ("PostToolUse", 0, 0)]));
    let left = value(&without_hooks(&text, form(Client::Claude)).unwrap());
    assert_eq!(left, serde_json::json!({"hooks": {"PreToolUse": [{"matcher": "*", "hooks": [mine]}]}}));
}

#[test]
fn hooks_that_a_person_wrote_by_hand_are_complete_if_they_are_given_their_time() {
    let by_hand = |command: &str, timeout: u64| {
        let hook = serde_json::json!({"type": "command", "command": command, "timeout": timeout, "onFailure": "block"});
        let entries = form(Client::Claude).events.iter().map(|event| (*event, serde_json::json!([{"hooks": [hook]}])));
        serde_json::json!({"hooks": entries.collect::<std::collections::BTreeMap<_, _>>()}).to_string()
    };
    let plain = format!("tripwire{}", hook_command::call("claude"));
    let longer = format!("TRIPWIRE_HOOK_SECONDS=90 {plain}");
    for (command, timeout, complete) in
        [(&plain, 30, true), (&plain, 29, false), (&longer, 90, true), (&longer, 30, false)]
    {
        assert_eq!(is_complete(&by_hand(command, timeout), form(Client::Claude)), Ok(complete), "{command} {timeout}");
    }
}

#[test]
fn switches_are_seen_and_their_opposites_are_not() {
    for (client, text, switch) in [
        (form(Client::Claude), r#"{"disableAllHooks": true}"#, Some("disableAllHooks")),
        (form(Client::Claude), r#"{"disableAllHooks": false}"#, None),
        (form(Client::Gemini), r#"{"hooksConfig": {"enabled": false}} // mine"#, Some("hooksConfig.enabled")),
        (form(Client::Gemini), r#"{"hooksConfig": {"enabled": true}}"#, None),
        (
            form(Client::Gemini),
            r#"{"hooksConfig": {"disabled": ["tripwire-BeforeTool"]}}"#,
            Some("hooksConfig.disabled"),
        ),
        (form(Client::Gemini), r#"{"hooksConfig": {"disabled": ["mine"]}}"#, None),
    ] {
        assert_eq!(switched_off(text, client), switch, "{text}");
    }
}

#[test]
fn what_is_not_a_settings_file_is_refused_with_its_line() {
    let error = with_hooks("{\n  \"a\": 1\n  \"b\": }\n", form(Client::Claude), COMMAND).unwrap_err();
    assert!(matches!(error, SettingsError::Syntax { line: 3, .. }), "{error}");
    for (text, member) in
        [("[]", "the whole file"), ("{\"hooks\":1}", "hooks"), ("{\"hooks\":{\"Stop\":{}}}", "hooks.Stop")]
    {
        let error = with_hooks(text, form(Client::Claude), COMMAND).unwrap_err();
        assert!(matches!(&error, SettingsError::Shape { member: found, .. } if found == member), "{error}");
    }
}
