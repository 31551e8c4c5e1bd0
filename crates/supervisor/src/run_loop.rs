//! One worker after the other: each is started, watched to its end and ended for certain, until the run is over.

use super::arrange::{self, ArrangeError, Arranged, Scene};
use super::ending::{Ending, Facts};
use super::folder::RunFolder;
use super::guard::{Clerk, Guard};
use super::latecomers::Latecomers;
use super::program::Program;
use super::report::{EngineSwitch, Proof, RunReport};
use super::stream::{self, Complaint, LastWords, Passing};
use super::unasked::Unasked;
use super::verify::{self, Bench, Verified};
use super::watch::{Awake, ENGINE_WITHIN, Next, Over, Watch};
use super::witness::{Shown, Witness};
use super::{Output, RunError, Teller, Wish, prompt, serve, switches};
use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tripwire_clients::hooks::Client;
use tripwire_core::chain::gate::dirty_bits::Verification;
use tripwire_core::effect::{Effect, HoldReason, StopReason, SwitchReason};
use tripwire_core::input::{Compaction, EngineSwitched, Fault, HumanAct, What};
use tripwire_core::label::Label;
use tripwire_core::units::RunMillis;
use tripwire_sandbox::{Receipt, Shield, Tree, TreeExit, TreeSpec, TreeStdio};
use tripwire_session::driver::Driver;
use tripwire_session::supervised::{HeldRecord, RunEnd, RunRecord, StopReceipt};
use tripwire_workspace::clock;

/// What holds processes together before there are any.
const NOT_CONTAINED: &str = "none";

/// A client that is ready to be started.
#[derive(Debug)]
pub(super) struct Worker {
    program: Program,
    arranged: Arranged,
    /// The person's own command line, for a later restart.
    command: Vec<OsString>,
}

/// Arranges a client for this run.
pub(super) fn arrange(
    wish: &Wish,
    folder: &RunFolder,
    program: Program,
    command: &[OsString],
) -> Result<Worker, ArrangeError> {
    switches::none_is_off(wish, program, command)?;
    let scene = Scene { folder, cwd: &wish.cwd, env: &wish.env };
    let arranged = arrange::arrange(&scene, program, command)?;
    Ok(Worker { program, arranged, command: command.to_vec() })
}

/// The run, worker after worker.
pub(super) struct Shifts<'a> {
    wish: &'a Wish,
    folder: &'a RunFolder,
    teller: Arc<dyn Teller>,
    guard: Arc<Guard>,
    clerk: Clerk,
    record: HeldRecord,
    told: RunRecord,
    /// What holds the last worker's processes together.
    contained: &'static str,
    session: String,
    start: Instant,
    until: Option<Instant>,
    receipt: StopReceipt,
    clients: Vec<&'static str>,
    restarts: u32,
    switches: Vec<EngineSwitch>,
    /// What the last worker said at its end.
    text: Option<String>,
    /// What the running worker says on its standard error, where nobody hears it.
    complaint: Option<Complaint>,
    /// Whether the client's own record shows the test run that the verdict rests on.
    shown: Shown,
}

/// A worker that was started.
struct Started {
    tree: Tree,
    passing: Option<Passing>,
    unasked: Unasked,
}

/// What follows a worker.
enum Then {
    /// The run is over.
    End(Ending),
    /// Another worker goes on.
    Next(Box<Worker>),
}

impl<'a> Shifts<'a> {
    /// Takes the session over and listens to hooks from now on.
    pub(super) fn open(
        wish: &'a Wish,
        folder: &'a RunFolder,
        driver: Driver,
        teller: Arc<dyn Teller>,
    ) -> Result<Self, RunError> {
        let setup = |what| move |error| RunError::Setup { what, error };
        let session = driver.session().clone();
        let told = RunRecord {
            version: RunRecord::VERSION,
            pid: std::process::id(),
            client: String::new(),
            containment: NOT_CONTAINED.to_owned(),
            shielded: false,
            end: None,
        };
        let record = HeldRecord::begin(wish.workspace.layout(), &session, &told)?;
        let limit = driver.policy().limits.max_session_runtime_ms.get();
        let guard =
            Guard::new((wish.workspace.clone(), wish.homes.clone()), wish.presence, Arc::clone(&teller), driver);
        let guard = Arc::new(guard);
        // Whatever people did before is taken in now, and the key that signs it is there before it is hidden.
        guard.take(What::Tick)?;
        serve::listen(&folder.socket(), folder.program(), Arc::clone(&guard)).map_err(setup("listen to hooks"))?;
        let clerk = Clerk::start(Arc::clone(&guard)).map_err(setup("start a thread"))?;
        let start = Instant::now();
        let until = limit.map(|limit: RunMillis| start + Duration::from_millis(limit.get()));
        let receipt = StopReceipt::default();
        Ok(Self {
            wish,
            folder,
            teller,
            guard,
            clerk,
            record,
            told,
            contained: NOT_CONTAINED,
            session: session.to_string(),
            start,
            until,
            receipt,
            clients: Vec::new(),
            restarts: 0,
            switches: Vec::new(),
            text: None,
            complaint: None,
            shown: Shown::Unknown,
        })
    }

    /// Works until the run is over.
    pub(super) fn work(
        mut self,
        first: Worker,
        fallbacks: Vec<(Program, Vec<OsString>)>,
    ) -> Result<RunReport, RunError> {
        let mut fallbacks = VecDeque::from(fallbacks);
        let mut worker = first;
        let ending = loop {
            let next = if fallbacks.is_empty() { Next::Nobody } else { Next::Engine };
            let started = match self.start(&worker) {
                Ok(started) => started,
                // The first worker's failure is the person's to mend; a later one's ends the run that is going on.
                Err(error) if self.clients.is_empty() => {
                    self.give_up(&error.to_string());
                    return Err(error);
                }
                Err(error) => break Ending::ClientFailed(format!("{error}; {}", error.hint())),
            };
            match self.watch(&worker, started, next, &mut fallbacks) {
                Then::End(ending) => break ending,
                Then::Next(next) => worker = *next,
            }
        };
        Ok(self.close(ending))
    }

    fn start(&mut self, worker: &Worker) -> Result<Started, RunError> {
        let client = worker.program.client;
        self.guard.begin_worker();
        let arranged = &worker.arranged;
        let env = arranged.env.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()));
        let mut spec = TreeSpec::new(&arranged.command).cwd(&self.wish.cwd).env(env);
        for path in self.read_only(&arranged.read_only) {
            spec = spec.read_only(&path);
        }
        for path in self.hidden() {
            spec = spec.hidden(&path);
        }
        let own = worker.command.get(worker.program.arguments..).unwrap_or_default();
        let mut passing = None;
        let output = self.wish.output;
        if output == Output::Kept || stream::is_chosen(client, own) && !std::io::stdout().is_terminal() {
            let setup = |error| RunError::Setup { what: "make a pipe", error };
            let (reader, writer) = std::io::pipe().map_err(setup)?;
            passing = Some(Passing::start(client, reader, output).map_err(setup)?);
            spec = match output {
                Output::Passed => spec.stdio(TreeStdio::Inherit, TreeStdio::Fd(writer.into()), TreeStdio::Inherit),
                Output::Kept => {
                    let (complaints, errors) = std::io::pipe().map_err(setup)?;
                    self.complaint = Some(Complaint::start(complaints).map_err(setup)?);
                    spec.stdio(TreeStdio::Null, TreeStdio::Fd(writer.into()), TreeStdio::Fd(errors.into()))
                }
            };
        }
        let scene = (self.wish.workspace.root(), &self.wish.homes);
        let unasked = Unasked::note(worker.program, &worker.command, scene, clock::now()).hearing(passing.as_ref());
        let tree = spec.start()?;
        self.clients.push(client.name());
        self.told.client = self.clients.join(", ");
        self.contained = tree.containment().name();
        self.contained.clone_into(&mut self.told.containment);
        self.told.shielded = tree.shield() == Shield::Up;
        self.record.write(&self.told)?;
        if !self.told.shielded {
            self.teller.say(
                "tripwire: this system keeps no path from the client's processes: \
                 the journal is tamper-evident, not tamper-proof",
            );
        }
        Ok(Started { tree, passing, unasked })
    }

    /// What nothing of the agent's making may write, neither the client's processes nor the tests that it wrote: the
    /// session, the run's own files, what was arranged for a client, and what switches the guard on and off.
    fn read_only(&self, arranged: &[PathBuf]) -> Vec<PathBuf> {
        let geometry = self.wish.workspace.layout().folder();
        let geometry = geometry.canonicalize().unwrap_or_else(|_| geometry.to_owned());
        let kept = self.wish.kept.iter().filter_map(|path| path.canonicalize().ok());
        [geometry, self.folder.inner()].into_iter().chain(arranged.iter().cloned()).chain(kept).collect()
    }

    /// The folders that nothing of the agent's making may see: the client's processes, and the tests that it wrote.
    fn hidden(&self) -> Vec<PathBuf> {
        let folders = self.wish.hidden.iter().filter(|path| path.is_dir());
        folders.map(|path| path.canonicalize().unwrap_or_else(|_| path.clone())).collect()
    }

    fn watch(
        &mut self,
        worker: &Worker,
        Started { tree, passing, unasked }: Started,
        next: Next,
        fallbacks: &mut VecDeque<(Program, Vec<OsString>)>,
    ) -> Then {
        let client = worker.program.client;
        let watch = Watch {
            guard: &self.guard,
            teller: &self.teller,
            presence: self.wish.presence,
            witness: Witness::new(client),
            latecomers: Latecomers::default(),
            folder: self.folder.path().to_owned(),
            next,
            unasked,
            tree,
            awake: Awake::new(),
        };
        let (over, receipt, witness) = watch.run(client);
        self.add(receipt);
        let mut words = passing.map_or_else(LastWords::default, Passing::last_words);
        let complaint = self.complaint.take().and_then(Complaint::last_line);
        if let (Over::ByItself(exit), None) = (&over, &words.error)
            && *exit != TreeExit::Exited(0)
        {
            words.error = complaint;
        }
        self.text.clone_from(&words.text);
        let pulse = self.guard.pulse();
        self.shown = pulse.proof.as_ref().map_or(Shown::Unknown, |run| witness.shows(run));
        let facts = Facts { client, over: &over, pulse: &pulse, words: &words, refusal: witness.refusal() };
        match &over {
            Over::Restart => self.restart(worker),
            Over::Switch(reason) => self.switch(client, switch_words(*reason), fallbacks),
            Over::ByItself(_) => match facts.overload() {
                Some(why) if next == Next::Engine => self.switch(client, &why, fallbacks),
                Some(_) | None => Then::End(facts.ending()),
            },
            Over::Stopped(_) | Over::Held(_) | Over::Broken(_) | Over::Interrupted => Then::End(facts.ending()),
        }
    }

    /// The same client with a fresh context, told to read the briefing.
    fn restart(&mut self, worker: &Worker) -> Then {
        self.teller.say("tripwire: the context is full: a fresh worker goes on with `.geometry/MISSION_BRIEFING.md`");
        self.restarts += 1;
        let command = prompt::replaced(worker.program, &worker.command, prompt::CONTINUE);
        self.go_on(worker.program, &command)
    }

    /// The next engine of the person's chain.
    fn switch(&mut self, from: Client, reason: &str, fallbacks: &mut VecDeque<(Program, Vec<OsString>)>) -> Then {
        let Some((program, words)) = fallbacks.pop_front() else {
            return Then::End(Ending::Held(HoldReason::Context));
        };
        let switch = EngineSwitch { from: from.name(), to: program.client.name(), reason: reason.to_owned() };
        let told = format!("engine switch: {} goes on for {}: {}", switch.to, switch.from, switch.reason);
        self.teller.say(&format!("tripwire: {told}"));
        let switched = EngineSwitched {
            from: Label::cut(switch.from),
            to: Label::cut(switch.to),
            reason: Label::cut(&switch.reason),
        };
        self.switches.push(switch);
        if let Err(error) = self.clerk.take(What::EngineSwitched(switched), ENGINE_WITHIN) {
            return Then::End(Ending::GuardBroken(error.to_string()));
        }
        let command = prompt::fallback(program.client, &words, prompt::CONTINUE);
        self.go_on(program, &command)
    }

    /// Starts over with an empty context: the briefing is there, and the engine knows.
    fn go_on(&mut self, program: Program, command: &[OsString]) -> Then {
        if let Err(error) = self.guard.brief() {
            return Then::End(Ending::GuardBroken(error.to_string()));
        }
        let workspace_hash = verify::hash(self.wish.workspace.root());
        let compaction = Compaction { context_tokens: None, workspace_hash };
        if let Err(error) = self.clerk.take(What::Compacted(compaction), ENGINE_WITHIN) {
            return Then::End(Ending::GuardBroken(error.to_string()));
        }
        let pulse = self.guard.pulse();
        match (pulse.stopped(), pulse.held()) {
            (Some(reason), _) => return Then::End(Ending::Stopped(reason)),
            (None, Some(reason)) if !self.guard.is_waited_for(reason) => return Then::End(Ending::Held(reason)),
            (None, Some(_) | None) => {}
        }
        match arrange(self.wish, self.folder, program, command) {
            Ok(worker) => Then::Next(Box::new(worker)),
            Err(error) => Then::End(error.ending()),
        }
    }

    fn add(&mut self, receipt: Receipt) {
        self.receipt.ended += receipt.ended;
        self.receipt.survivors += receipt.survivors;
        let took_ms = u64::try_from(receipt.took.as_millis()).unwrap_or(u64::MAX);
        self.receipt.took_ms = self.receipt.took_ms.saturating_add(took_ms);
    }

    /// Says in the journal how it ended, proves the work where it is asked for, and writes the record.
    fn close(mut self, ending: Ending) -> RunReport {
        let mut ending = self.journal(self.doubted(ending));
        let verified = self.verify(&mut ending);
        let proof = self.proof(&ending, verified);
        if matches!(ending, Ending::Held(HoldReason::Loop | HoldReason::NoProgress))
            && let Err(error) = self.guard.report_blocker()
        {
            self.teller.say(&format!("note: the blocker report is not written: {error}"));
        }
        if self.receipt.survivors > 0 {
            ending = Ending::GuardBroken(format!("{} processes survived", self.receipt.survivors));
        }
        self.guard.close();
        let broken = if let Ending::GuardBroken(why) = &ending { Some(why.clone()) } else { None };
        self.told.end = Some(RunEnd { at: Some(clock::now()), how: ending.words(), broken, receipt: self.receipt });
        if let Err(error) = self.record.write(&self.told) {
            self.teller.say(&format!("note: the end of the run is not recorded: {error}"));
        }
        let pulse = self.guard.pulse();
        RunReport {
            session: self.session,
            clients: self.clients,
            ending,
            text: self.text,
            verified,
            proof,
            view: pulse.view,
            findings: pulse.recent,
            receipt: self.receipt,
            took: self.start.elapsed(),
            restarts: self.restarts,
            switches: self.switches,
            containment: self.contained,
            shielded: self.told.shielded,
        }
    }

    /// A test run that the hook told of and the client's own record does not show proves nothing: whatever runs in the
    /// client's tree can call its hook.
    fn doubted(&self, ending: Ending) -> Ending {
        match (ending, self.shown) {
            (Ending::Done(Verification::Verified), Shown::No) => {
                self.teller.say("tripwire: the client's own record does not show the test run that its hook reported");
                Ending::Done(Verification::Unverified)
            }
            (ending, Shown::Yes | Shown::No | Shown::Unknown) => ending,
        }
    }

    /// What a verdict of `VERIFIED` rests on.
    fn proof(&self, ending: &Ending, verified: Option<Verified>) -> Option<Proof> {
        if !matches!(ending, Ending::Done(Verification::Verified)) {
            return None;
        }
        if let (Some(Verified::Passed), Some(command)) = (verified, &self.wish.verify) {
            return Some(Proof::OwnRun { command: command.clone() });
        }
        let action = self.guard.pulse().proof?.action;
        Some(match self.shown {
            Shown::Yes => Proof::ClientRecord { action },
            Shown::No | Shown::Unknown => Proof::ClientWord { action },
        })
    }

    /// Takes into the journal what the engine does not know yet of the end.
    fn journal(&self, ending: Ending) -> Ending {
        let what = match &ending {
            Ending::GuardBroken(why) => What::Fault(Fault {
                cause: Label::cut(why),
                fix: Label::cut("see `tripwire doctor` and `tripwire log`"),
            }),
            // An interrupt of ours, of which the engine has not heard.
            Ending::Stopped(reason)
                if *reason == StopReason::StoppedByPerson && self.guard.pulse().stopped().is_none() =>
            {
                What::Human(HumanAct::Stop)
            }
            Ending::Done(_)
            | Ending::Stopped(_)
            | Ending::Held(_)
            | Ending::Parked(_)
            | Ending::ClientCap(_)
            | Ending::ClientBudget(_)
            | Ending::ClientFailed(_)
            | Ending::NothingAsked => return ending,
        };
        match self.clerk.take(what, ENGINE_WITHIN) {
            Err(error) if !matches!(ending, Ending::GuardBroken(_)) => Ending::GuardBroken(error.to_string()),
            Ok(_) | Err(_) => ending,
        }
    }

    /// Runs the person's test command, if the agent came to its end, and lets the engine judge what it proves.
    fn verify(&self, ending: &mut Ending) -> Option<Verified> {
        let Ending::Done(verdict) = ending else { return None };
        let command = self.wish.verify.as_deref()?;
        let bench = Bench {
            command,
            cwd: &self.wish.cwd,
            env: &self.wish.env,
            read_only: &self.read_only(&[]),
            hidden: &self.hidden(),
            until: self.until,
        };
        let verified = verify::run(&bench, self.teller.as_ref()).unwrap_or_else(|error| {
            self.teller.say(&format!("tripwire: the test command could not be run: {error}"));
            Verified::Cut
        });
        let root = self.wish.workspace.root();
        let taken = self.clerk.take(verify::event(command, verified, root), ENGINE_WITHIN);
        let judged = taken.and_then(|_| self.clerk.take(verify::claim(root), ENGINE_WITHIN));
        match judged {
            Ok(decision) => {
                let said = decision
                    .effects
                    .iter()
                    .find_map(|effect| if let Effect::EndIteration(end) = effect { end.verdict } else { None });
                *verdict = proved(verified, said.unwrap_or_else(|| self.guard.pulse().view.verdict));
            }
            Err(error) => *ending = Ending::GuardBroken(error.to_string()),
        }
        Some(verified)
    }

    /// Nothing was started: the record says so.
    fn give_up(&mut self, why: &str) {
        self.guard.close();
        let how = format!("not started: {why}");
        self.told.end = Some(RunEnd { at: Some(clock::now()), how, broken: None, receipt: self.receipt });
        // Nothing ran, so nothing depends on it.
        drop(self.record.write(&self.told));
    }
}

/// The verdict on the work once the person's own command has spoken. The engine knows of no change where an agent worked
/// by ways that it could not see; the command's word holds all the same.
const fn proved(verified: Verified, said: Verification) -> Verification {
    match (verified, said) {
        (
            Verified::Failed(_) | Verified::Cut,
            Verification::Verified
            | Verification::Stale
            | Verification::Failed
            | Verification::Unverified
            | Verification::NothingToVerify,
        ) => Verification::Failed,
        (Verified::Passed, Verification::NothingToVerify | Verification::Verified) => Verification::Verified,
        (Verified::Passed, Verification::Stale) => Verification::Stale,
        (Verified::Passed, Verification::Failed) => Verification::Failed,
        (Verified::Passed, Verification::Unverified) => Verification::Unverified,
    }
}

const fn switch_words(reason: SwitchReason) -> &'static str {
    match reason {
        SwitchReason::VerificationFailed => "verification failed too often",
        SwitchReason::ContextExhausted => "the context is exhausted",
    }
}
