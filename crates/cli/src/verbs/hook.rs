//! `tripwire hook`: what a client calls for each event. It never crashes and never prints what a client would reject.

use crate::client_name::ClientName;
use crate::error::Problem;
use crate::exit::Exit;
use crate::print::Out;
use clap::Args;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tripwire_clients::Client;
use tripwire_clients::hooks::handler::{Attempt, HookHandler, Measured, OnHeldCall};
use tripwire_clients::hooks::{
    self, Event, FigureUse, HookCall, KeptNotes, Reply, SECONDS_VARIABLE, TimeLimit, TurnEnd,
};
use tripwire_core::effect::HoldReason;
use tripwire_core::explain::Explain;
use tripwire_core::policy::{Audience, OnGuardFailure};
use tripwire_fs::bounded;
use tripwire_sandbox::last_word::{self, LastWord};
use tripwire_session::approvals;
use tripwire_session::driver::{Driver, DriverError, ManifestReach, frozen_policy};
use tripwire_session::foreign::{Foreign, follow_mode};
use tripwire_supervisor::socket::{
    self, INPUT_BYTES_MAX, Question, SESSION_VARIABLE, SOCKET_VARIABLE, SUPERVISED_WITHIN,
};
use tripwire_undo::UndoStore;
use tripwire_workspace::Workspace;
use tripwire_workspace::clock;
use tripwire_workspace::open_consoles::OpenConsole;
use tripwire_workspace::session::SessionId;

/// Answer one hook event of a client: hook input on standard input, the decision in the client's format on standard
/// output.
///
/// Calls, prompts and ends of a turn are decided on; results are recorded; sub-agents and compactions count toward
/// their session; all other events pass. While `.geometry/STOP` exists every call is refused; while `.geometry/PAUSE`
/// exists it waits for as long as the client waits for its hook, and is then refused. An internal failure is a
/// refusal, unless the policy says `on_guard_failure: allow`. Under `tripwire run` the supervisor answers.
#[derive(Debug, Args)]
pub(crate) struct HookArgs {
    /// The client that calls.
    client: ClientName,
}

/// Runs the verb.
pub(crate) fn run(args: &HookArgs) -> Result<Exit, Problem> {
    answer_for(args.client.client())
}

/// The client of a plain `hook CLIENT`, which is what clients call: the path of every tool call reads no more of the
/// command line than this.
pub(crate) fn plain(arguments: &[OsString]) -> Option<Client> {
    match arguments {
        [_, verb, client] if verb == "hook" => client.to_str().and_then(Client::named),
        _ => None,
    }
}

/// Answers one event of this client.
///
/// Some clients let a call through whose hook gave no answer in time, so whatever the hook waits for, it refuses before:
/// its word is left before the first byte is read, because a client may keep its end of the pipe open.
pub(crate) fn answer_for(client: Client) -> Result<Exit, Problem> {
    let mut input = Vec::new();
    let heard = leave_word(client, &[], time_limit().answer).and_then(|()| read(&mut input));
    let reply = match heard.and_then(|()| fit_word(client, &input)) {
        Ok(()) => answer(client, &input).unwrap_or_else(|broken| broken.reply(client, &input)),
        Err(why) => hooks::broken(client, &input, &why),
    };
    last_word::take_back();
    speak(&reply)
}

/// Leaves what is said if the time is over first; no time at all stops the clock.
fn leave_word(client: Client, input: &[u8], within: Duration) -> Result<(), String> {
    let why = format!("it found no answer in {} s; something that it reads does not end", within.as_secs());
    let Reply { stdout, stderr, exit_code } = hooks::broken(client, input, &why);
    let line = |text: String| if text.is_empty() { Vec::new() } else { format!("{text}\n").into_bytes() };
    let word = LastWord { stdout: line(stdout), stderr: line(stderr), exit_code };
    word.leave(within).map_err(|error| format!("its clock does not start: {error}"))
}

/// Fits the word that was left to the event, once it is known. What asks to go on has the right one already.
fn fit_word(client: Client, input: &[u8]) -> Result<(), String> {
    if std::env::var_os(SOCKET_VARIABLE).is_some() {
        // The supervisor takes as long as a person keeps its run paused.
        return leave_word(client, input, Duration::ZERO);
    }
    if hooks::asks_to_go_on(client, input) { Ok(()) } else { leave_word(client, input, time_limit().answer) }
}

/// Says what the client is to hear.
fn speak(reply: &Reply) -> Result<Exit, Problem> {
    if !reply.stderr.is_empty() {
        reply.stderr.lines().for_each(crate::print::say);
    }
    if !reply.stdout.is_empty() {
        let mut out = Out::lock();
        out.line(&reply.stdout)?;
        out.flush()?;
    }
    Ok(if reply.exit_code == 0 { Exit::Done } else { Exit::Refusal })
}

fn read(input: &mut Vec<u8>) -> Result<(), String> {
    let limit = u64::try_from(INPUT_BYTES_MAX).unwrap_or(u64::MAX);
    *input = bounded::read_beginning(std::io::stdin().lock(), limit + 1)
        .map_err(|error| format!("standard input cannot be read: {error}"))?;
    if input.len() > INPUT_BYTES_MAX {
        return Err("the hook's input is larger than 64 MiB".to_owned());
    }
    Ok(())
}

/// Why there is no decision, and what the policy makes of that.
struct Broken {
    why: String,
    /// Only a policy that can be read may say that a broken guard lets things pass.
    policy: OnGuardFailure,
}

impl Broken {
    fn reply(&self, client: Client, input: &[u8]) -> Reply {
        match self.policy {
            OnGuardFailure::Hold => hooks::broken(client, input, &self.why),
            OnGuardFailure::Allow => {
                let stderr = format!("tripwire: NOT GUARDED (on_guard_failure: allow): {}", self.why);
                Reply { stderr, ..Reply::default() }
            }
        }
    }
}

impl<E: Explain> From<E> for Broken {
    fn from(error: E) -> Self {
        Self { why: format!("{error}; {}", error.hint()), policy: OnGuardFailure::Hold }
    }
}

/// The answer, or why there can be none.
fn answer(client: Client, input: &[u8]) -> Result<Reply, Broken> {
    if let Some(socket) = std::env::var_os(SOCKET_VARIABLE) {
        let question = Question { client, input: input.to_vec() };
        return Ok(socket::ask(Path::new(&socket), &question, SUPERVISED_WITHIN)?);
    }
    let call = hooks::read(client, input)?;
    if !call.concerns_the_engine() {
        return Ok(Reply::default());
    }
    let workspace = Workspace::open(&project(&call), &crate::workspace::places())?;
    decide(&call, &workspace)
        .map_err(|error| Broken { policy: policy_on_failure(&call, &workspace), ..Broken::from(error) })
}

/// Opens the session and deals with the event; a throttled call waits here, with nothing locked.
fn decide(call: &HookCall, workspace: &Workspace) -> Result<Reply, DriverError> {
    let homes = crate::workspace::homes();
    let driver = session(call, workspace)?.signed_by(crate::workspace::signing(workspace));
    // Nothing confines the agent here: its calls can write the manifest.
    let mut driver = driver.with_reach(ManifestReach::Open);
    let undo = UndoStore::under(homes.own_state().as_deref(), workspace.root(), driver.policy());
    let mut handler = HookHandler {
        workspace,
        homes: &homes,
        clock: clock::now,
        changes: Measured::ByHooks,
        figures: FigureUse::Everything,
        held: OnHeldCall::Refuses,
        undo: undo.as_ref(),
    };
    let until = Instant::now() + time_limit().wait;
    let (mut attempt, mut kept) = (Attempt::First, KeptNotes::default());
    let patience = answer_wait(&driver).min(time_limit().wait);
    if !patience.is_zero() {
        handler.held = OnHeldCall::Waits;
    }
    // Until when a person may answer: a pause in between neither ends nor restarts the wait.
    let mut answer_until = None;
    loop {
        let handled = handler.handle(call, &mut driver, &mut kept, attempt)?;
        for taken in &handled.taken {
            crate::notify::notify(&driver, taken);
        }
        match handled.retry_after.filter(|wait| Instant::now() + *wait <= until) {
            Some(wait) => std::thread::sleep(wait.max(Duration::from_millis(1))),
            None if let Some(code) = &handled.awaits => {
                let answer_until = *answer_until.get_or_insert_with(|| Instant::now() + patience);
                approvals::wait(&mut driver, code, answer_until)?;
                if Instant::now() >= answer_until {
                    handler.held = OnHeldCall::RefusesAfter(patience);
                }
            }
            None if hooks::waits_out_pause(call, &handled.reply) && is_paused(&driver) => {
                if let Some(reply) = wait_out_pause(call, &mut driver, until, handled.reply)? {
                    return Ok(reply);
                }
            }
            None => return Ok(handled.reply),
        }
        attempt = Attempt::Again;
    }
}

/// How long a held call waits for a person's answer: nobody sees a hook at work, so by default only while a console is open.
fn answer_wait(driver: &Driver) -> Duration {
    let is_open = crate::workspace::state_home().is_some_and(|state| OpenConsole::is_any(&state));
    let seen = if is_open { Audience::Person } else { Audience::Nobody };
    Duration::from_millis(driver.policy().approvals.wait.seen_by(seen).get())
}

/// Waits while a person keeps the session paused, with nothing locked. Nothing to say means: it is over, ask again.
///
/// A call that is refused at once costs a model request each time, so the answer comes only when the client would not wait
/// any longer, and then it ends the turn. A result was taken in already: after the pause it stands.
fn wait_out_pause(
    call: &HookCall,
    driver: &mut Driver,
    until: Instant,
    refusal: Reply,
) -> Result<Option<Reply>, DriverError> {
    let is_result = matches!(call.event, Event::Done(..));
    while Instant::now() < until {
        std::thread::sleep(LOOK_AGAIN);
        if !driver.has_news(clock::now())? {
            driver.refresh()?;
            if is_paused(driver) {
                continue;
            }
        }
        return Ok(is_result.then(Reply::default));
    }
    // Where no answer ends a turn, a refusal would only take the place of the result.
    let ends = call.client.adapter().hooks.turn_end == TurnEnd::ByAnswer;
    Ok(Some(if is_result && !ends { Reply::default() } else { refusal }))
}

fn is_paused(driver: &Driver) -> bool {
    driver.view().held == Some(HoldReason::Paused) && driver.view().stopped.is_none()
}

/// How often a hook that waits for a person looks whether it may go on.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// The session that the supervisor named, else the one that belongs to the client's.
fn session(call: &HookCall, workspace: &Workspace) -> Result<Driver, DriverError> {
    match named_session() {
        Some(session) => Ok(Driver::resume(workspace.layout(), &session)?.acting_as(crate::workspace::role_variable())),
        None => {
            let foreign = Foreign { client: call.client.name(), session: &call.session };
            let role = crate::workspace::role_variable();
            let mut driver = match foreign.known(workspace.layout()) {
                Some(session) => Driver::resume(workspace.layout(), &session)?.acting_as(role),
                None => begin(&foreign, workspace, role.as_deref())?,
            };
            follow_mode(&mut driver, workspace.layout(), crate::workspace::state_home().as_deref())?;
            Ok(driver)
        }
    }
}

/// Begins our session for a client's.
fn begin(foreign: &Foreign<'_>, workspace: &Workspace, role: Option<&str>) -> Result<Driver, DriverError> {
    crate::workspace::keep_out_of_commits(workspace);
    crate::workspace::remember(workspace);
    foreign.open_in(workspace, crate::workspace::signing(workspace), clock::now(), role)
}

fn time_limit() -> TimeLimit {
    TimeLimit::of(std::env::var(SECONDS_VARIABLE).ok().as_deref())
}

/// What a broken guard means, read only now, because the quiet path has no time for it: what the session froze. Before it
/// began, what the manifest says, which is what it would freeze.
fn policy_on_failure(call: &HookCall, workspace: &Workspace) -> OnGuardFailure {
    let layout = workspace.layout();
    let foreign = Foreign { client: call.client.name(), session: &call.session };
    let policy = match named_session().or_else(|| foreign.known(layout)) {
        Some(session) => frozen_policy(layout, &session),
        None => tripwire_workspace::policy_file::load_for(layout).ok().map(|loaded| loaded.policy),
    };
    policy.map_or(OnGuardFailure::Hold, |policy| policy.gate.on_guard_failure)
}

/// The session that the supervisor named.
fn named_session() -> Option<SessionId> {
    std::env::var(SESSION_VARIABLE).ok().and_then(|text| SessionId::parse(&text).ok())
}

/// The folder that the client was started in, where it tells it: an agent may have gone elsewhere meanwhile, and must not
/// leave its guard behind.
fn project(call: &HookCall) -> PathBuf {
    let names = call.client.adapter().hooks.project_variables;
    let named = names.iter().find_map(std::env::var_os).map(PathBuf::from);
    named.filter(|folder| folder.is_absolute() && folder.is_dir()).unwrap_or_else(|| call.cwd.clone())
}
