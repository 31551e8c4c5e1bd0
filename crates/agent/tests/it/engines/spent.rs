//! What a question used that gave no answer: budgets must not be blind to it (GATE-8).

use crate::engines::ask::{LONG, spent_by};
use crate::support::dialects::{ALL, Api, Say};
use crate::support::server::{Server, Step, reply, stream};
use std::time::Duration;
use tripwire_agent::engines::EngineError;
use tripwire_core::run::record::Spent;
use tripwire_core::units::Tokens;

fn long_text() -> Say {
    Say { text: vec!["words and words ".to_owned(); 100], ..Say::default() }.usage([5_000, 100_000, 3_000, 400, 0])
}

/// The first two thirds of an answer, and then what follows.
fn half(api: Api, then: &[Step]) -> Vec<Step> {
    let events = api.events(&long_text());
    let mut script = vec![Step::Streams];
    script.extend(events[..events.len() * 2 / 3].iter().map(|event| Step::Chunk(event.clone().into_bytes())));
    script.extend_from_slice(then);
    script
}

fn told(api: Api, spent: &Spent) {
    let usage = spent.usage;
    assert!(spent.estimated, "{api:?}: the output was not told yet");
    assert_eq!(spent.model.as_str(), "test-model-1", "{api:?}");
    assert!(usage.output > Tokens::new(300), "{api:?} {usage:?}");
    match api {
        Api::Anthropic | Api::Gemini => {
            assert_eq!((usage.fresh_input.get(), usage.cache_read.get()), (5_000, 100_000), "{api:?}");
        }
        // Both tell their figures only at the end: the input is estimated from what was sent.
        Api::Chat | Api::Responses => assert!(usage.fresh_input > Tokens::new(10), "{api:?} {usage:?}"),
    }
}

#[test]
fn gate_8_an_answer_that_breaks_off_tells_what_it_used() {
    for api in ALL {
        for then in [[Step::End].as_slice(), &[]] {
            let server = Server::start(vec![half(api, then)]);
            let (answer, spent) = spent_by(&api.engine(&server.url()), LONG, usize::MAX);
            assert!(matches!(answer, Err(EngineError::Broken { .. })), "{api:?} {answer:?}");
            told(api, &spent.unwrap());
        }
    }
}

#[test]
fn gate_8_an_answer_that_is_cut_tells_what_it_used() {
    for api in ALL {
        let server = Server::start(vec![half(api, &[Step::Hang])]);
        let (answer, spent) = spent_by(&api.engine(&server.url()), LONG, 950);
        assert!(matches!(answer, Err(EngineError::Cut { .. })), "{api:?} {answer:?}");
        told(api, &spent.unwrap());
    }
}

#[test]
fn gate_8_a_deadline_leaves_at_least_what_was_sent() {
    for api in ALL {
        let server = Server::start(vec![vec![Step::Hang]]);
        let (answer, spent) = spent_by(&api.engine(&server.url()), Duration::from_millis(400), usize::MAX);
        assert!(matches!(answer, Err(EngineError::Deadline { .. })), "{api:?} {answer:?}");
        let spent = spent.unwrap();
        assert!(spent.estimated && spent.usage.fresh_input > Tokens::new(10), "{api:?} {spent:?}");
        assert_eq!(spent.usage.output, Tokens::ZERO, "{api:?}");
    }
}

#[test]
fn gate_8_a_paid_question_without_an_answer_counts_with_all_that_it_may_have_used() {
    // The connection breaks before any head, and after a part of the answer.
    for script in [vec![], half(Api::Chat, &[Step::End])] {
        let server = Server::start(vec![script]);
        let (answer, spent) = spent_by(&format!("openai-chat:gpt-5@{}/v1", server.url()), LONG, usize::MAX);
        assert!(matches!(answer, Err(EngineError::Broken { .. })), "{answer:?}");
        let spent = spent.unwrap();
        assert!(spent.estimated && spent.usage.input() > Tokens::new(1_024), "{spent:?}");
        assert_eq!(spent.usage.output, Tokens::new(1_000), "as long as it may be: {spent:?}");
    }
}

#[test]
fn gate_8_an_answer_whose_figures_are_final_is_not_estimated() {
    // All is there but the name of a call: the answer cannot be used, its figures can.
    for api in ALL {
        let say = Say::text(&["x"]).call("", "{}").usage([70, 0, 0, 20, 0]);
        let server = Server::start(vec![stream(&api.events(&say))]);
        let (answer, spent) = spent_by(&api.engine(&server.url()), LONG, usize::MAX);
        assert!(matches!(answer, Err(EngineError::Broken { .. })), "{api:?} {answer:?}");
        let spent = spent.unwrap();
        assert_eq!((spent.estimated, spent.usage.fresh_input.get(), spent.usage.output.get()), (false, 70, 20));
    }
}

#[test]
fn gate_8_refusals_dead_hosts_and_good_answers_leave_nothing_behind() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for api in ALL {
        let busy = api.error(529, api.overload().1, "busy").to_string();
        let server = Server::start(vec![
            reply(529, &[("content-type", "application/json")], &busy),
            stream(&[api.stream_error(api.overload().1, "Overloaded")]),
            stream(&api.events(&long_text())),
        ]);
        for good in [false, false, true] {
            let (answer, spent) = spent_by(&api.engine(&server.url()), LONG, usize::MAX);
            assert_eq!((answer.is_ok(), spent), (good, None), "{api:?}");
        }
        let (_, spent) = spent_by(&api.engine(&format!("http://{closed}")), LONG, usize::MAX);
        assert_eq!(spent, None, "{api:?}");
    }
}
