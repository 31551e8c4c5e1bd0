//! The view itself: waits for keys, changes on disk and signals, and draws what changed. Nothing here polls; the clock only
//! refreshes ages.

use super::draw;
use super::gather::{carry_out, explain, gather};
use super::keys;
use super::palette::Palette;
use super::state::{WatchAction, WatchState};
use super::terminal::OwnedTerminal;
use super::view::{PersonAct, Said, Wanted, WatchView, WhyWanted};
use crate::host::Host;
use crate::live;
use crate::model::ReadModel;
use crossterm::event::{Event, read};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::borrow::Cow;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};
use tripwire_core::explain::{ExitClass, Explain};

/// How often everything is looked at again without a notification: processes end silently, and ages grow.
const REFRESH: Duration = Duration::from_secs(5);
/// The shortest time between two looks: an append is several changes of files.
const GATHER: Duration = Duration::from_millis(50);

/// What a view needs to know.
pub struct WatchOptions {
    /// The person and the machine.
    pub host: Host,
    /// The one session to show, if one was named.
    pub session: Option<String>,
    /// Whether there are colours.
    pub palette: Palette,
    /// Whether the view panics once it is drawn: how tests see that the terminal is given back.
    #[cfg(debug_assertions)]
    pub breaks: bool,
}

/// Why the view ended, other than by a person's wish or a signal.
#[derive(Debug, thiserror::Error)]
pub enum ScreenError {
    /// The terminal cannot be used, or is gone.
    #[error("the terminal cannot be used: {0}")]
    Terminal(#[from] io::Error),
    /// A part of the view panicked.
    #[error("a part of the view broke")]
    Broken,
}

impl Explain for ScreenError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::Terminal(_) => "use `tripwire status`, `tripwire log` or `tripwire web` instead".into(),
            Self::Broken => "this is a defect of tripwire; please report it".into(),
        }
    }

    fn exit_class(&self) -> ExitClass {
        match self {
            Self::Terminal(_) => ExitClass::BadInput,
            Self::Broken => ExitClass::Internal,
        }
    }
}

/// What the view hears.
enum Heard {
    Terminal(Event),
    NoTerminal(io::Error),
    Changed,
    View(Box<WatchView>),
    Said(Said),
    Done(Said),
    Signal,
    Broken,
}

/// What the gathering thread is asked.
enum Asked {
    View(Wanted),
    Why(WhyWanted),
}

/// Shows the view until a person leaves it or a signal ends it.
///
/// # Errors
/// When the terminal cannot be used.
pub fn show(options: WatchOptions) -> Result<(), ScreenError> {
    end_with_the_keeper();
    let (tell, heard) = channel();
    // Before the terminal is taken: a signal between the two must not leave it taken.
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    let mut owned = OwnedTerminal::take()?;
    let on_signal = tell.clone();
    std::thread::spawn(move || {
        for _ in &mut signals {
            on_signal.send(Heard::Signal).ok();
        }
    });
    let on_key = tell.clone();
    std::thread::spawn(move || {
        loop {
            let (told, goes_on) = match read() {
                Ok(event) => (Heard::Terminal(event), true),
                Err(error) => (Heard::NoTerminal(error), false),
            };
            if on_key.send(told).is_err() || !goes_on {
                return;
            }
        }
    });
    let model = Arc::new(ReadModel::new(options.host));
    let (watched, on_change) = (Arc::clone(&model), tell.clone());
    let host = model.host.clone();
    std::thread::spawn(move || {
        live::watch(&host, move |change| {
            watched.notice(&change);
            on_change.send(Heard::Changed).is_ok()
        });
    });
    let ask = gatherer(&model, options.session, &tell);
    let mut view =
        View { model, tell, ask, state: WatchState::default(), work: Work::Idle, stale: true, asked_at: None };
    #[cfg(debug_assertions)]
    if options.breaks {
        owned.terminal.draw(|frame| draw::draw(frame, &view.state, options.palette))?;
        break_now();
    }
    view.run(&mut owned, &heard, options.palette)
}

#[cfg(debug_assertions)]
#[expect(clippy::panic, reason = "tests ask for it, and release builds do not have it")]
fn break_now() {
    panic!("a test asked for this panic");
}

/// Ends this process when the one that restores the terminal is killed.
fn end_with_the_keeper() {
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::TERM)).ok();
}

/// The thread that asks the read model, so that no key waits for a disk.
fn gatherer(model: &Arc<ReadModel>, only: Option<String>, tell: &Sender<Heard>) -> Sender<Asked> {
    let (ask, asked) = channel::<Asked>();
    let (model, tell) = (Arc::clone(model), tell.clone());
    std::thread::spawn(move || {
        let work = || {
            while let Ok(one) = asked.recv() {
                let told = match one {
                    Asked::View(wanted) => Heard::View(Box::new(gather(&model, only.as_deref(), &wanted))),
                    Asked::Why(wanted) => Heard::Said(explain(&model, &wanted)),
                };
                if tell.send(told).is_err() {
                    return;
                }
            }
        };
        if catch_unwind(AssertUnwindSafe(work)).is_err() {
            tell.send(Heard::Broken).ok();
        }
    });
    ask
}

struct View {
    model: Arc<ReadModel>,
    tell: Sender<Heard>,
    ask: Sender<Asked>,
    state: WatchState,
    work: Work,
    /// Whether something changed since the last one was asked for.
    stale: bool,
    asked_at: Option<Instant>,
}

impl View {
    fn run(&mut self, owned: &mut OwnedTerminal, heard: &Receiver<Heard>, palette: Palette) -> Result<(), ScreenError> {
        loop {
            self.gather_if_due();
            owned.terminal.draw(|frame| draw::draw(frame, &self.state, palette))?;
            let mut next = match heard.recv_timeout(self.wait()) {
                Ok(next) => Some(next),
                Err(RecvTimeoutError::Timeout) => {
                    self.stale = true;
                    None
                }
                Err(RecvTimeoutError::Disconnected) => return Err(ScreenError::Broken),
            };
            // What came together is drawn together.
            while let Some(one) = next {
                if self.take(one)? == Goes::Out {
                    return Ok(());
                }
                next = heard.try_recv().ok();
            }
        }
    }

    /// How long nothing need be done.
    fn wait(&self) -> Duration {
        let since = self.asked_at.map_or(REFRESH, |at| at.elapsed());
        let left = match (self.work, self.stale) {
            (Work::Gathering, _) => REFRESH,
            (Work::Idle, true) => GATHER.saturating_sub(since),
            (Work::Idle, false) => REFRESH.saturating_sub(since),
        };
        left.max(Duration::from_millis(1))
    }

    fn gather_if_due(&mut self) {
        let is_due = self.asked_at.is_none_or(|at| at.elapsed() >= GATHER);
        if self.stale && self.work == Work::Idle && is_due {
            self.ask.send(Asked::View(self.state.wanted())).ok();
            (self.work, self.stale, self.asked_at) = (Work::Gathering, false, Some(Instant::now()));
        }
    }

    fn take(&mut self, heard: Heard) -> Result<Goes, ScreenError> {
        match heard {
            Heard::Signal => return Ok(Goes::Out),
            Heard::NoTerminal(error) => return Err(error.into()),
            Heard::Broken => return Err(ScreenError::Broken),
            Heard::Changed => self.stale = true,
            Heard::View(view) => {
                self.work = Work::Idle;
                self.state.take(*view);
            }
            Heard::Said(said) => self.state.told(said),
            Heard::Done(said) => {
                self.state.busy = self.state.busy.saturating_sub(1);
                self.state.told(said);
                (self.stale, self.asked_at) = (true, None);
            }
            Heard::Terminal(Event::Paste(text)) => self.state.paste(&text),
            Heard::Terminal(Event::Key(key)) => {
                if let Some(pressed) = keys::read(key) {
                    let action = self.state.press(pressed);
                    return Ok(action.map_or(Goes::On, |action| self.act(action)));
                }
            }
            // A new size is seen when the next frame is drawn.
            Heard::Terminal(Event::Resize(..) | Event::FocusGained | Event::FocusLost | Event::Mouse(_)) => {}
        }
        Ok(Goes::On)
    }

    fn act(&mut self, action: WatchAction) -> Goes {
        match action {
            WatchAction::Quit => return Goes::Out,
            WatchAction::Gather => (self.stale, self.asked_at) = (true, None),
            WatchAction::Explain(wanted) => {
                self.ask.send(Asked::Why(wanted)).ok();
            }
            WatchAction::Do(act) => self.carry_out(act),
        }
        Goes::On
    }

    /// Carries an act out beside the view: a stop waits for its receipts.
    fn carry_out(&mut self, act: PersonAct) {
        self.state.busy += 1;
        let (model, tell) = (Arc::clone(&self.model), self.tell.clone());
        std::thread::spawn(move || {
            let done = catch_unwind(AssertUnwindSafe(|| carry_out(&model, &act)));
            tell.send(done.map_or(Heard::Broken, Heard::Done)).ok();
        });
    }
}

/// What the gathering thread does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Work {
    Idle,
    Gathering,
}

/// Whether the view goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Goes {
    On,
    Out,
}
