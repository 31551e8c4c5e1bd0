//! No spelling of a call reaches the server while STOP stands, and everything else passes as it came.

use super::fixture::server;
use serde_json::Value;
use std::fs;

/// Calls, in every way that some server might read as one.
pub(super) const SPELLINGS: &[&str] = &[
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{}}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools\/call","params":{"name":"t"}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"\u0074ools/call","params":{"name":"t"}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools\u002Fcall","params":{"name":"t"}}"#,
    r#"{"jsonrpc":"2.0","id":1,"m\u0065thod":"tools/call","params":{"name":"t"}}"#,
    r#"{"params":{"arguments":{},"name":"t"},"method":"tools/call","id":1}"#,
    r#"  {	"id" : "x" , "method" : "tools/call" , "params" : {"name":"t"} }  "#,
    r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"t"}}"#,
    r#"[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}]"#,
    r#"[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}},{"id":2,"method":"tools/call","params":{"name":"t"}}]"#,
    r#"[[{"id":1,"method":"tools/call","params":{"name":"t"}}]]"#,
    r#"{"id":1,"method":"ping","method":"tools/call","params":{"name":"t"}}"#,
    r#"{"id":1,"method":"tools/call","method":"ping","params":{"name":"t"}}"#,
    r#"{"id":1,"method":"ping","m\u0065thod":"tools/call","params":{"name":"t"}}"#,
    r#"{"id":1,"method":"ping","Method":"tools/call","params":{"name":"t"}}"#,
    r#"{"id":1,"METHOD":"tools/call","params":{"name":"t"}}"#,
    "{\"id\":1,\"method\":\"ping\",\"param\u{17f}\":{\"method\":\"tools/call\"}}",
    r#"{"id":1,"method":"Tools/Call","params":{"name":"t"}}"#,
    r#"{"id":1,"method":"tools/call ","params":{"name":"t"}}"#,
    "{\"id\":1,\"method\":\"tools/\u{200b}call\",\"params\":{\"name\":\"t\"}}",
    r#"{"id":1,"method":["tools/call"],"params":{"name":"t"}}"#,
    r#"{"id":1,"method":"ping"}{"id":2,"method":"tools/call","params":{"name":"t"}}"#,
    r#"{"id":1,"method":"ping"} {"id":2,"method":"tools/call","params":{"name":"t"}}"#,
    "{\"id\":1,\"method\":\"ping\"}\r{\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"t\"}}",
    "{\"id\":1,\"method\":\"ping\",\"params\":\r{\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"t\"}}\r}",
    "\u{feff}{\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"t\"}}",
    r#"{"id":1,"method":"tools/call","params":{"name":"t","name":"u"}}"#,
    r#"{"id":1,"method":"tools/call","params":["t"]}"#,
    r#"{"id":1,"method":"tools/call","params":{"Name":"t"}}"#,
    r#"{"id":1,"method":"tools/call","result":{},"params":{"name":"t"}}"#,
    r#"{"id":null,"method":"tools/call","params":{"name":"t"}}"#,
    r#"{"id":{},"method":"tools/call","params":{"name":"t"}}"#,
    r#"{"id":1,"method":"tools/call","params":{"name":"t"},}"#,
    r#"{'id':1,'method':'tools/call','params':{'name':'t'}}"#,
    r#"{"id":1,"method":"tools/call","params":{"name":"t"}} // a note"#,
    r#"{"id":1,"method":"tools/call","params":{"name":"t","arguments":{"a":NaN}}}"#,
    r#"{"id":1,"method":"tools/call","params":{"name":"\ud800"}}"#,
    "{\"id\":1,\"method\":\"tools/call\",\u{a0}\"params\":{\"name\":\"t\"}}",
];

#[test]
fn mcp_1_no_spelling_of_a_call_reaches_the_server_under_stop() {
    let fixture = server();
    fs::write(fixture.hooks.geometry("STOP"), "").unwrap();
    let mut client = fixture.start();
    for spelling in SPELLINGS {
        client.say(spelling);
    }
    let deep = format!(
        r#"{{"id":1,"method":"tools/call","params":{{"name":"t","arguments":{{"a":{}1{}}}}}}}"#,
        "[".repeat(80),
        "]".repeat(80)
    );
    client.say(&deep);
    client.bytes(b"{\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"\xff\"}}\n");
    client.bytes(b"{\"id\":1,\"method\":\"\xc1\xb4ools/call\",\"params\":{\"name\":\"t\"}}\n");
    client.say(r#"{"id":"last","method":"ping"}"#);
    let mut answers = 0;
    loop {
        let answer = client.answer();
        if answer["id"] == "last" {
            break;
        }
        answers += 1;
        let items = answer.as_array().cloned().unwrap_or_else(|| vec![answer.clone()]);
        for item in items {
            assert!(item["error"]["code"].is_i64() || item["result"]["isError"] == true, "{answer}");
        }
    }
    assert_eq!(fixture.log().trim(), r#"{"id":"last","method":"ping"}"#, "nothing else reached the server");
    // A call without an id gets no answer; a batch of two gets two.
    assert_eq!(answers, SPELLINGS.len() + 3 - 1 + 1);
    let (code, stderr) = client.close();
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stderr.contains("without an id is refused"), "{stderr}");
    fixture.verify();
}

#[test]
fn mcp_4_messages_pass_as_they_came_in_their_order_both_ways() {
    let fixture = server();
    let mut client = fixture.start();
    let lines = [
        r#"{"jsonrpc":"2.0", "id":0,"method":"initialize","params":{"protocolVersion":"2099-01-01","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"  {"id" : 1,"method":"some/thing\u002fnew","params":{"method":"tools/call","a":[1,2.50,1e3],"ü":"\u00fc\/"}}  "#,
        r#"{"jsonrpc":"2.0","id":"a","method":"resources/read","params":{"uri":"x:y"}}"#,
        r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"_meta":{"progressToken":7},"name":"echo","arguments":{"b": 1, "a":[ ]}}}"#,
        r#"{"jsonrpc":"2.0","id":77,"result":{"roots":[]}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}"#,
        r#"[{"id":4,"method":"tools/call","params":{"name":"echo"}}]"#,
        "",
    ];
    for line in lines {
        client.say(line);
    }
    let fine = |id: &str| {
        format!(
            "{{\"jsonrpc\":\"2.0\", \"id\":{id},\"result\" : {{\"content\":[ {{\"type\":\"text\",\"text\":\"fine\"}} ]}}}}\n"
        )
    };
    for id in ["0", "1", "\"a\"", "3", "77", "4"] {
        assert_eq!(client.line(), fine(id));
    }
    assert_eq!(fixture.log(), lines.map(|line| format!("{line}\n")).concat());
    assert_eq!(client.close().0, Some(0));
    let journal = fixture.journal();
    assert_eq!(journal.matches("\"request\"").count(), 2, "two calls, each with one request: {journal}");
    assert!(journal.contains("mcp__demo__echo"), "{journal}");
    fixture.verify();
}

#[test]
fn mcp_1_a_refused_line_says_why_and_what_to_do() {
    let fixture = server();
    let mut client = fixture.start();
    client.say(r#"{"id":5,"method":"tools/call","method":"ping"}"#);
    let answer: Value = client.answer();
    let message = answer["error"]["message"].as_str().unwrap();
    assert_eq!((&answer["id"], answer["error"]["code"].as_i64()), (&Value::from(5), Some(-32_700)));
    assert!(message.contains("`method` occurs twice") && message.contains("did not reach the server"), "{message}");
    assert_eq!(client.close().0, Some(0));
    assert_eq!(fixture.log(), "");
}
