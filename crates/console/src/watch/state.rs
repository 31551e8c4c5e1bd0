//! What a person does on the screen: keys and gathered views in, actions out. It knows neither a terminal nor a clock.

use super::field::TextField;
use super::gather::WINDOW;
use super::keys::Pressed;
use super::view::{
    CallLine, PersonAct, Said, SessionName, TreeLine, ViewTone, WaitKind, WaitLine, Wanted, WatchView, WhyWanted,
};
use tripwire_core::chain::gate::floor::ApprovalVerdict;
use tripwire_core::units::MicroUsd;
use tripwire_workspace::control::order::Order;

/// Lines that a page key moves by.
const PAGE: usize = 10;
/// Micro-dollars of a dollar.
const MICRO_USD_OF_DOLLAR: u64 = 1_000_000;
/// The most by which a budget is raised at once, in dollars.
const RAISE_DOLLARS_MAX: u64 = 100_000;

/// The screen as it stands.
#[derive(Debug, Default)]
pub(super) struct WatchState {
    pub(super) view: WatchView,
    pub(super) pane: Pane,
    pub(super) mode: WatchMode,
    /// What was last said, until the next key.
    pub(super) said: Option<Said>,
    /// Acts that are under way.
    pub(super) busy: usize,
    pub(super) filter: String,
    /// Where the cursor stands in the tree.
    chosen_line: usize,
    chosen: Option<SessionName>,
    chosen_wait: Option<(String, String)>,
    /// The chosen record; without one, the newest is followed.
    chosen_call: Option<u64>,
    before: Option<u64>,
}

/// The lists.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Pane {
    #[default]
    Agents,
    Waiting,
    Calls,
}

impl Pane {
    const ALL: [Self; 3] = [Self::Agents, Self::Waiting, Self::Calls];

    fn moved(self, by: usize) -> Self {
        let at = Self::ALL.iter().position(|pane| *pane == self).unwrap_or_default();
        Self::ALL.get((at + by) % Self::ALL.len()).copied().unwrap_or_default()
    }
}

/// What the keys mean now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum WatchMode {
    /// The lists.
    #[default]
    Look,
    /// All keys are explained.
    Help,
    /// A text is read; the number is the first line that is shown.
    Reading(Said, usize),
    /// A line is typed.
    Typing(Question, TextField),
    /// One more key is needed.
    Confirming(PersonAct),
}

/// What a typed line answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Question {
    /// The filter.
    Filter,
    /// By how many dollars a budget is raised.
    Amount(WaitLine),
    /// Why; the act waits for it.
    Reason(PersonAct, String),
}

/// What the world is asked to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum WatchAction {
    /// Leave.
    Quit,
    /// Gather again: something else is wanted.
    Gather,
    /// Carry an act out.
    Do(PersonAct),
    /// Explain a decision.
    Explain(WhyWanted),
}

impl WatchState {
    /// What the screen wants to know now.
    pub(super) fn wanted(&self) -> Wanted {
        Wanted { chosen: self.chosen.clone(), filter: self.filter.clone(), before: self.before }
    }

    /// Takes a newly gathered view; the cursors stay on what they point at.
    pub(super) fn take(&mut self, view: WatchView) {
        let under = self.tree_line().map(TreeLine::identity);
        self.view = view;
        self.chosen.clone_from(&self.view.calls.of);
        let tree = &self.view.tree;
        let same = under.and_then(|under| tree.iter().position(|line| line.identity() == under));
        let of_session = || tree.iter().position(|line| line.session_name() == self.chosen);
        self.chosen_line = same.or_else(of_session).unwrap_or_default();
    }

    /// Says what came of an act or a question: in a line where it is short, else as a text.
    pub(super) fn told(&mut self, said: Said) {
        // Nothing that a person is in the middle of is pushed aside.
        let is_free = matches!(self.mode, WatchMode::Look | WatchMode::Help | WatchMode::Reading(..));
        match said.lines.len() {
            0 | 1 => self.said = Some(said),
            _ if is_free => self.mode = WatchMode::Reading(said, 0),
            _ => self.said = Some(said),
        }
    }

    /// The line of the tree under the cursor.
    pub(super) fn tree_line(&self) -> Option<&TreeLine> {
        self.view.tree.get(self.chosen_line)
    }

    /// The cursor's place in the tree.
    pub(super) const fn tree_at(&self) -> usize {
        self.chosen_line
    }

    /// The cursor's place among what waits.
    pub(super) fn wait_at(&self) -> usize {
        let chosen = self.chosen_wait.as_ref();
        let found = self.view.waiting.iter().position(|line| chosen == Some(&(line.key.clone(), line.id.clone())));
        found.unwrap_or_default()
    }

    /// The cursor's place among the records.
    pub(super) fn call_at(&self) -> usize {
        let lines = &self.view.calls.lines;
        let found = self.chosen_call.and_then(|i| lines.iter().position(|line| line.i <= i));
        found.unwrap_or_else(|| if self.chosen_call.is_some() { lines.len().saturating_sub(1) } else { 0 })
    }

    pub(super) fn call_line(&self) -> Option<&CallLine> {
        self.view.calls.lines.get(self.call_at())
    }

    /// The folder of a workspace.
    pub(super) fn root_of(&self, key: &str) -> &str {
        self.view.tree.iter().find(|line| line.key == key).map_or("", |line| &line.root)
    }

    /// Takes what was pasted: a text for a line that is typed, and never keys.
    pub(super) fn paste(&mut self, text: &str) {
        if let WatchMode::Typing(_, field) = &mut self.mode {
            field.add(text);
        }
    }

    /// Takes a key.
    pub(super) fn press(&mut self, key: Pressed) -> Option<WatchAction> {
        if key == Pressed::Interrupt {
            return Some(WatchAction::Quit);
        }
        self.said = None;
        match std::mem::take(&mut self.mode) {
            WatchMode::Look => self.press_in_lists(key),
            WatchMode::Help => None,
            WatchMode::Reading(said, at) => {
                self.read_on(said, at, key);
                None
            }
            WatchMode::Typing(question, field) => self.type_on(question, field, key),
            WatchMode::Confirming(act) if matches!(key, Pressed::Letter('y' | 'Y')) => Some(WatchAction::Do(act)),
            WatchMode::Confirming(_) => {
                self.say("not done");
                None
            }
        }
    }

    fn say(&mut self, text: &str) {
        self.said = Some(Said { lines: vec![text.to_owned()], ..Said::default() });
    }

    fn read_on(&mut self, said: Said, at: usize, key: Pressed) {
        let last = said.lines.len().saturating_sub(1);
        let to = match key {
            Pressed::Down | Pressed::Letter('j') => at.saturating_add(1),
            Pressed::Up | Pressed::Letter('k') => at.saturating_sub(1),
            Pressed::PageDown | Pressed::Letter(' ') => at.saturating_add(PAGE),
            Pressed::PageUp => at.saturating_sub(PAGE),
            Pressed::Home | Pressed::Letter('g') => 0,
            Pressed::End | Pressed::Letter('G') => last,
            Pressed::Letter(_)
            | Pressed::Enter
            | Pressed::Escape
            | Pressed::Backspace
            | Pressed::Clear
            | Pressed::NextPane
            | Pressed::PreviousPane
            | Pressed::Interrupt => return,
        };
        self.mode = WatchMode::Reading(said, to.min(last));
    }

    fn type_on(&mut self, question: Question, mut field: TextField, key: Pressed) -> Option<WatchAction> {
        match key {
            Pressed::Letter(letter) => field.add(letter.encode_utf8(&mut [0; 4])),
            Pressed::Backspace => field.delete(),
            Pressed::Clear => field.clear(),
            Pressed::Escape => return None,
            Pressed::Enter => return self.entered(question, field.text().trim()),
            Pressed::Up
            | Pressed::Down
            | Pressed::PageUp
            | Pressed::PageDown
            | Pressed::Home
            | Pressed::End
            | Pressed::NextPane
            | Pressed::PreviousPane
            | Pressed::Interrupt => {}
        }
        self.mode = WatchMode::Typing(question, field);
        None
    }

    /// A line was typed to its end.
    fn entered(&mut self, question: Question, text: &str) -> Option<WatchAction> {
        match question {
            Question::Filter => {
                text.clone_into(&mut self.filter);
                (self.before, self.chosen_call, self.pane) = (None, None, Pane::Calls);
                Some(WatchAction::Gather)
            }
            Question::Amount(line) => {
                let amount = text.trim_start_matches('$').trim_end_matches("usd").trim();
                match amount.parse::<u64>().ok().filter(|dollars| (1..=RAISE_DOLLARS_MAX).contains(dollars)) {
                    Some(dollars) => {
                        let raise = MicroUsd::new(dollars.saturating_mul(MICRO_USD_OF_DOLLAR));
                        let asks = format!("raise the budget of {} by ${dollars}", line.session);
                        let act = answer(&line, ApprovalVerdict::Allowed, Some(raise));
                        self.ask_why(act, asks);
                    }
                    None => self.say("name whole dollars, from 1 to 100,000; nothing was done"),
                }
                None
            }
            Question::Reason(act, _) => {
                let act = act.because(text);
                if act.needs_another_key() {
                    self.mode = WatchMode::Confirming(act);
                    return None;
                }
                Some(WatchAction::Do(act))
            }
        }
    }

    fn ask_why(&mut self, act: PersonAct, asks: String) {
        self.mode = WatchMode::Typing(Question::Reason(act, asks), TextField::default());
    }

    fn press_in_lists(&mut self, key: Pressed) -> Option<WatchAction> {
        match key {
            Pressed::Letter(letter) => self.press_letter(letter),
            Pressed::Enter => self.why(),
            Pressed::Escape => {
                let had_filter = !self.filter.is_empty();
                self.filter.clear();
                (self.before, self.chosen_call) = (None, None);
                had_filter.then_some(WatchAction::Gather)
            }
            Pressed::NextPane => {
                self.pane = self.pane.moved(1);
                None
            }
            Pressed::PreviousPane => {
                self.pane = self.pane.moved(2);
                None
            }
            Pressed::Up => self.go(|at| at.saturating_sub(1)),
            Pressed::Down => self.go(|at| at.saturating_add(1)),
            Pressed::PageUp => self.go(|at| at.saturating_sub(PAGE)),
            Pressed::PageDown => self.go(|at| at.saturating_add(PAGE)),
            Pressed::Home => self.go(|_| 0),
            Pressed::End => self.go(|_| usize::MAX),
            Pressed::Backspace | Pressed::Clear | Pressed::Interrupt => None,
        }
    }

    fn press_letter(&mut self, letter: char) -> Option<WatchAction> {
        match letter {
            'q' => return Some(WatchAction::Quit),
            '?' | 'h' => self.mode = WatchMode::Help,
            '/' => self.mode = WatchMode::Typing(Question::Filter, TextField::holding(&self.filter)),
            'j' => return self.go(|at| at.saturating_add(1)),
            'k' => return self.go(|at| at.saturating_sub(1)),
            'g' => return self.go(|_| 0),
            'G' => return self.go(|_| usize::MAX),
            'w' => return self.why(),
            'a' => self.approve(),
            'd' => self.deny(),
            's' => self.order(Order::Stop),
            'p' => self.order(Order::Pause),
            'r' => match self.workspace() {
                Some((key, root)) => {
                    let act = PersonAct::GoOn { key, reason: String::new() };
                    self.ask_why(act, format!("resume {root}"));
                }
                None => self.say("there is no workspace to resume"),
            },
            _ => {}
        }
        None
    }

    /// Moves the cursor of the list that has the focus.
    fn go(&mut self, to: impl Fn(usize) -> usize) -> Option<WatchAction> {
        match self.pane {
            Pane::Agents => {
                self.chosen_line = to(self.chosen_line).min(self.view.tree.len().saturating_sub(1));
                let name = self.tree_line().and_then(TreeLine::session_name);
                if name.is_none() || name == self.chosen {
                    return None;
                }
                (self.chosen, self.before, self.chosen_call) = (name, None, None);
                Some(WatchAction::Gather)
            }
            Pane::Waiting => {
                let at = to(self.wait_at()).min(self.view.waiting.len().saturating_sub(1));
                let line = self.view.waiting.get(at);
                self.chosen_wait = line.map(|line| (line.key.clone(), line.id.clone()));
                None
            }
            Pane::Calls => self.go_in_calls(to),
        }
    }

    /// Moves among the records; at the end of what was gathered, what is before it is wanted.
    fn go_in_calls(&mut self, to: impl Fn(usize) -> usize) -> Option<WatchAction> {
        let lines = &self.view.calls.lines;
        let asked = to(self.call_at());
        let at = asked.min(lines.len().saturating_sub(1));
        let i = lines.get(at).map(|line| line.i)?;
        let is_newest = at == 0 && self.before.is_none();
        self.chosen_call = (!is_newest).then_some(i);
        let before = if asked == 0 && at == 0 {
            // The first key at the top leads back to the newest.
            None
        } else if asked >= lines.len() && i > 0 {
            Some(i.saturating_add(WINDOW / 4))
        } else {
            self.before
        };
        if before.is_none() && self.before.is_some() {
            self.chosen_call = None;
        }
        let changed = before != self.before;
        self.before = before;
        changed.then_some(WatchAction::Gather)
    }

    /// The workspace that an order is for.
    fn workspace(&self) -> Option<(String, String)> {
        self.tree_line().map(|line| (line.key.clone(), line.root.clone()))
    }

    fn order(&mut self, order: Order) {
        let Some((key, root)) = self.workspace() else { return self.say("there is no workspace yet") };
        let verb = match order {
            Order::Stop => "stop",
            Order::Pause => "pause",
        };
        self.ask_why(PersonAct::Order { key, order, reason: String::new() }, format!("{verb} every session of {root}"));
    }

    fn waiting(&mut self) -> Option<WaitLine> {
        let line = self.view.waiting.get(self.wait_at()).cloned();
        if line.is_none() {
            self.say("nothing waits for an answer");
        }
        line
    }

    fn approve(&mut self) {
        let Some(line) = self.waiting() else { return };
        match line.kind {
            WaitKind::Command | WaitKind::Review => {
                let asks = format!("approve {}: {}", line.id, line.what);
                self.ask_why(answer(&line, ApprovalVerdict::Allowed, None), asks);
            }
            WaitKind::Budget => {
                self.mode = WatchMode::Typing(Question::Amount(line), TextField::holding("5"));
            }
            WaitKind::Session => self.say("a held session goes on with r, or with the command that w shows"),
        }
    }

    fn deny(&mut self) {
        let Some(line) = self.waiting() else { return };
        match line.kind {
            WaitKind::Command | WaitKind::Review | WaitKind::Budget => {
                let asks = format!("deny {}: {}", line.id, line.what);
                self.ask_why(answer(&line, ApprovalVerdict::Denied, None), asks);
            }
            WaitKind::Session => self.say("a held session does not go on until you say so; s stops it"),
        }
    }

    /// Explains what the cursor stands on.
    fn why(&mut self) -> Option<WatchAction> {
        match self.pane {
            Pane::Waiting => {
                let line = self.waiting()?;
                let before = vec![
                    format!("{} {} [{}]", line.kind.name(), line.id, line.rule),
                    line.what.clone(),
                    format!("workspace  {}", line.root),
                    format!("session    {} {}", line.client, line.session),
                    format!("answer     {}", line.answered_by),
                ];
                let Some(i) = line.asked else {
                    let title = format!("why {}", line.id);
                    self.mode = WatchMode::Reading(Said { title, lines: before, tone: ViewTone::Plain }, 0);
                    return None;
                };
                let of = SessionName { key: line.key, session: line.session };
                Some(WatchAction::Explain(WhyWanted {
                    of,
                    i,
                    before: [before, vec![String::new()]].concat(),
                    behind: vec![],
                }))
            }
            Pane::Agents | Pane::Calls => {
                let of = self.view.calls.of.clone()?;
                let Some(line) = self.call_line() else {
                    self.say("there is no record to explain");
                    return None;
                };
                let undo = format!(
                    "undo       `tripwire undo {} --session {}` takes this step and every later one back",
                    line.i, of.session
                );
                let behind = if line.can_undo { vec![undo] } else { Vec::new() };
                Some(WatchAction::Explain(WhyWanted { of, i: line.i, before: Vec::new(), behind }))
            }
        }
    }
}

impl PersonAct {
    fn because(self, why: &str) -> Self {
        let why = why.to_owned();
        match self {
            Self::Answer { key, id, says, raise, .. } => Self::Answer { key, id, says, raise, reason: why },
            Self::Order { key, order, .. } => Self::Order { key, order, reason: why },
            Self::GoOn { key, .. } => Self::GoOn { key, reason: why },
        }
    }

    /// Whether it ends something, so that one key by mistake must not be enough.
    const fn needs_another_key(&self) -> bool {
        match self {
            Self::Answer { says: ApprovalVerdict::Denied, .. } | Self::Order { order: Order::Stop, .. } => true,
            Self::Answer { says: ApprovalVerdict::Allowed, .. }
            | Self::Order { order: Order::Pause, .. }
            | Self::GoOn { .. } => false,
        }
    }
}

fn answer(line: &WaitLine, says: ApprovalVerdict, raise: Option<MicroUsd>) -> PersonAct {
    PersonAct::Answer { key: line.key.clone(), id: line.id.clone(), says, reason: String::new(), raise }
}
