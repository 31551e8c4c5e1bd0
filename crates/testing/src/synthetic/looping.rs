//! Loops: the shapes in which agents get stuck, with the number of calls within which each must be overridden.

use super::{Call, Dice, Player, bad, good};

/// A kind of loop.
#[derive(Debug, Clone, Copy)]
pub enum Looping {
    /// The same call with the same result; only the time in the output moves.
    Identical,
    /// One call without arguments fails without a text, written in several empty ways.
    EmptyArguments,
    /// The same call with the same result, one or two other calls between.
    Spread,
    /// Two to sixteen calls that go round.
    Cycle,
    /// Other arguments each time, the same error.
    OneError,
    /// Errors that quote their argument.
    Quoting,
    /// Failures of all kinds, and nothing else.
    AllFails,
    /// Edits that do not apply, with a successful look between.
    FailedEdits,
    /// A question in ever other words.
    Reworded,
    /// A request that is printed and never sent.
    Echo,
    /// An edit and its undoing, again and again.
    EditAndUndo,
    /// The same task for another agent, whose answers differ.
    SameTask,
    /// Pages past the end of a list.
    PagesPastTheEnd,
    /// Other calls each time, and each reply says that the way before did not work.
    StartingOver,
    /// Looks at a program that runs, without a pause.
    HotLooks,
}

impl Looping {
    /// Every kind.
    pub const ALL: [Self; 15] = [
        Self::Identical,
        Self::EmptyArguments,
        Self::Spread,
        Self::Cycle,
        Self::OneError,
        Self::Quoting,
        Self::AllFails,
        Self::FailedEdits,
        Self::Reworded,
        Self::Echo,
        Self::EditAndUndo,
        Self::SameTask,
        Self::PagesPastTheEnd,
        Self::StartingOver,
        Self::HotLooks,
    ];
}

/// Calls after which every loop is given up, overridden or not.
const CALLS_MAX: u64 = 64;

/// Plays the loop and says within how many calls it must have been overridden.
#[expect(clippy::too_many_lines, reason = "one arm for each kind of loop")]
pub fn play(kind: Looping, session: &mut impl Player, dice: &mut Dice) -> u64 {
    let tool = dice.one(&["Bash", "fetch_page", "mcp__x__run_query", "lookup_order"]);
    let (name, answer, period) = (dice.word(), dice.sentence(9), dice.between(2, 16));
    let gap = dice.between(1, 2);
    let spawner = dice.one(&["Task", "spawn_agent", "mcp__team__delegate"]);
    let topic = dice.words(9);
    let facts = dice.sentence(24);
    for round in 0..CALLS_MAX {
        if session.is_over() {
            break;
        }
        let call: Call<'_> = match kind {
            Looping::Identical => {
                good(tool, format!(r#"{{"command":"{name} --all"}}"#), format!("{answer} in {}.{round}s", round + 1))
            }
            Looping::EmptyArguments => {
                let args = dice.one(&[r#"{"":""}"#, r#"{"":{}}"#, r#"{"page_down":""}"#, r#"{"arguments":{}}"#]);
                Call { output: None, ..bad("page_down", args.to_owned(), "") }
            }
            Looping::Spread if round % (gap + 1) == 0 => good(tool, format!(r#"{{"id":"{name}"}}"#), answer.clone()),
            Looping::Spread => good("Read", format!(r#"{{"file_path":"{}"}}"#, dice.path()), dice.sentence(30)),
            Looping::Cycle => {
                let step = round % period;
                good(tool, format!(r#"{{"click":"{name} {step}"}}"#), format!("{answer} {step}"))
            }
            Looping::OneError => {
                let args = format!(r#"{{"module":"{}"}}"#, dice.word());
                bad(tool, args, format!("Error: {answer}, line {round}"))
            }
            Looping::Quoting => {
                let wrong = dice.sentence(3);
                bad("Edit", format!(r#"{{"old":"{wrong}"}}"#), format!("String to replace not found: `{wrong}`"))
            }
            Looping::AllFails => bad("python", format!(r#"{{"code":"{}"}}"#, dice.sentence(6)), dice.sentence(8)),
            Looping::FailedEdits if round % 2 == 0 => {
                bad("Edit", format!(r#"{{"file_path":"{name}.rs","old":"{}"}}"#, dice.sentence(4)), dice.sentence(8))
            }
            Looping::FailedEdits => good("Read", format!(r#"{{"file_path":"{}"}}"#, dice.path()), dice.sentence(30)),
            Looping::Reworded => {
                // The same words in another order, one of them exchanged for another.
                let first = usize::try_from(round).unwrap_or(0) % topic.len() + 1;
                let turned: Vec<&str> =
                    topic.iter().cycle().skip(first).take(topic.len() - 1).map(String::as_str).collect();
                let question = format!("{} {}", turned.join(" "), dice.word());
                good("web_search", format!(r#"{{"query":"{question}"}}"#), facts.clone())
            }
            Looping::Echo => {
                let request = format!("{facts} please {}", dice.word());
                // What comes back is the request itself, without its first word.
                let printed = request.split(' ').skip(1).collect::<Vec<_>>().join(" ");
                good("python", format!(r#"{{"code":"print {request}"}}"#), printed)
            }
            Looping::EditAndUndo => {
                let (old, new) = if round % 2 == 0 { ("a", "b") } else { ("b", "a") };
                let args = format!(r#"{{"file_path":"{name}.rs","old":"{old}","new":"{new}"}}"#);
                good("Edit", args, format!("{name}.rs has been updated"))
            }
            Looping::SameTask => {
                let args = format!(r#"{{"prompt":"{facts}","description":"{name} {round}"}}"#);
                good(spawner, args, dice.sentence(20))
            }
            Looping::PagesPastTheEnd => good("list_orders", format!(r#"{{"page":{}}}"#, round + 7), "[]"),
            Looping::StartingOver => {
                let said = format!("{} {}", dice.one(&OVER), dice.sentence(12));
                Call {
                    said: Some(said),
                    ..good("python", format!(r#"{{"code":"{}"}}"#, dice.sentence(9)), dice.sentence(14))
                }
            }
            Looping::HotLooks => good("write_stdin", r#"{"session_id":7,"chars":""}"#.to_owned(), answer.clone()),
        };
        session.play(&call);
    }
    overridden_within(kind, gap, period)
}

/// How a reply begins that starts over.
const OVER: [&str; 4] = [
    "Let me try a different approach.",
    "That did not work.",
    "I apologize for the error.",
    "It still fails, so I try again.",
];

/// How many calls a loop of this kind may make before it must have been overridden.
fn overridden_within(kind: Looping, gap: u64, period: u64) -> u64 {
    match kind {
        Looping::Identical => 3,
        Looping::EmptyArguments => 6,
        Looping::Spread => 2 * (gap + 1) + 1,
        // Three turns; the third occurrence of the first call is earlier still for short cycles.
        Looping::Cycle => 3 * period,
        Looping::OneError => 4,
        Looping::Quoting | Looping::PagesPastTheEnd | Looping::StartingOver => 5,
        Looping::AllFails => 8,
        Looping::SameTask => 4,
        Looping::HotLooks => 12,
        Looping::FailedEdits => 9,
        Looping::Reworded => 3,
        Looping::Echo => 4,
        // The first of each is news and opens an epoch.
        Looping::EditAndUndo => 8,
    }
}
