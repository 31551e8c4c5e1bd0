//! Pages of the docs that people need where only the program is: `tripwire help TOPIC` prints them.

use crate::error::Problem;
use crate::exit::Exit;
use crate::print::Out;
use std::ffi::OsString;

/// A page that is kept in the program.
#[derive(Debug)]
pub(crate) struct Topic {
    name: &'static str,
    about: &'static str,
    page: &'static str,
}

/// Every page; no name is that of a verb, whose own help would hide it.
const TOPICS: [Topic; 7] = [
    Topic {
        name: "events",
        about: "the lines that `decide` and `step` read, and what comes out",
        page: include_str!("../../../docs/reference/events.md"),
    },
    Topic {
        name: "scenarios",
        about: "event streams with the decisions that they must give",
        page: include_str!("../../../docs/guide/scenarios.md"),
    },
    Topic {
        name: "traces",
        about: "the recorded runs that `scan --traces` reads",
        page: include_str!("../../../docs/reference/traces.md"),
    },
    Topic {
        name: "authority",
        about: "roles, policies in Cedar, reviews, identity",
        page: include_str!("../../../docs/guide/authority.md"),
    },
    Topic {
        name: "engines",
        about: "the models of `agent`, and the form of a cassette",
        page: include_str!("../../../docs/reference/engines.md"),
    },
    Topic {
        name: "gateway-config",
        about: "the configuration of `gateway`",
        page: include_str!("../../../docs/reference/gateway.md"),
    },
    Topic {
        name: "stdio",
        about: "the protocol of `serve --stdio`",
        page: include_str!("../../../docs/reference/stdio.md"),
    },
];

/// The name that lists the others.
const LIST: &str = "topics";

/// What `tripwire help NAME` asks for, unless it is about a verb.
#[derive(Debug)]
pub(crate) enum Asked {
    List,
    Page(&'static Topic),
}

/// Reads a command line that asks for a page, and no other.
pub(crate) fn asked(arguments: &[OsString]) -> Option<Asked> {
    let [_, help, name] = arguments else { return None };
    if help != "help" {
        return None;
    }
    if name == LIST {
        return Some(Asked::List);
    }
    TOPICS.iter().find(|topic| name == topic.name).map(Asked::Page)
}

/// Prints it.
pub(crate) fn print(asked: &Asked) -> Result<Exit, Problem> {
    let mut out = Out::lock();
    match asked {
        Asked::Page(topic) => out.line(topic.page.trim_end())?,
        Asked::List => {
            for topic in &TOPICS {
                out.line(&format!("{:<15} {}", topic.name, topic.about))?;
            }
        }
    }
    out.flush()?;
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_topic_has_the_name_of_a_verb_and_each_has_a_page() {
        let parser = crate::command();
        for topic in &TOPICS {
            assert!(parser.find_subcommand(topic.name).is_none(), "{}", topic.name);
            assert!(topic.page.starts_with("# "), "{}", topic.name);
        }
    }

    #[test]
    fn only_a_line_that_asks_for_a_page_is_taken() {
        let asked = |words: &[&str]| asked(&words.iter().map(OsString::from).collect::<Vec<_>>());
        assert!(matches!(asked(&["tripwire", "help", "events"]), Some(Asked::Page(_))));
        assert!(matches!(asked(&["tripwire", "help", "topics"]), Some(Asked::List)));
        for words in [&["tripwire", "help", "run"][..], &["tripwire", "help"], &["tripwire", "events"]] {
            assert!(asked(words).is_none(), "{words:?}");
        }
    }
}
