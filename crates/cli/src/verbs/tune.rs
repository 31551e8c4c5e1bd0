//! `tripwire tune`: a false alarm is tuned away, with a look at what else would go.

mod offer;
mod past;
mod write;

use crate::error::Problem;
use crate::exit::Exit;
use crate::history::Pairs;
use crate::person;
use crate::print::{self, Form, Out, terminal};
use crate::sessions::short_path;
use crate::workspace::{self, Which};
use clap::Args;
use offer::Offer;
use past::{Difference, PastAlarm};
use serde_json::json;
use std::borrow::Cow;
use std::io::IsTerminal as _;
use tripwire_core::counted::{agreeing, counted};
use tripwire_core::explain::{ExitClass, Explain};
use tripwire_core::input::Input;
use tripwire_core::policy;
use tripwire_core::rules::Rule;
use tripwire_session::driver::{Driver, open_existing, views};
use tripwire_workspace::Workspace;
use write::{SettingsTarget, Written};

/// Silence a false alarm: ignore its command, exempt its tool, or raise its threshold.
///
/// Shows what each option would change in the recorded sessions: which past alarms would disappear, and which new
/// ones would appear. On a terminal it asks; elsewhere use the flags. The setting is written to this workspace's
/// manifest, or with `--everywhere` to your own settings for all workspaces; a workspace's manifest overrides them.
/// It applies from the next session on: a running session keeps its frozen policy. The destructive-command guard,
/// people's orders and permissions cannot be tuned.
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
#[derive(Debug, Args)]
pub(crate) struct TuneArgs {
    /// The number `i` of the decision that raised the alarm; by default the last alarm of the session.
    decision: Option<u64>,
    /// Ignore this command in the loop rules; `*` matches any text. By default the alarm's own command.
    #[arg(long, value_name = "PATTERN", num_args = 0..=1, default_missing_value = "", group = "choice")]
    ignore: Option<String>,
    /// Exempt the alarm's tool from the loop rules.
    #[arg(long, group = "choice")]
    exempt_tool: bool,
    /// Raise this threshold of the alarm's rule; without `=VALUE`, just enough to silence the alarm.
    #[arg(long, value_name = "SETTING[=VALUE]", group = "choice")]
    raise: Option<String>,
    /// For all your workspaces, not only for this one.
    #[arg(long)]
    everywhere: bool,
    /// Show what would change, and write nothing.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    form: Form,
}

#[derive(Debug, thiserror::Error)]
enum TuneError {
    #[error("decision {decision} raised no alarm")]
    NoAlarm { decision: u64 },
    #[error("no alarm was raised in {session}")]
    NoneAtAll { session: String },
    #[error("`{}` is not noise that can be tuned away: {reason}", rule.id())]
    NotTunable { rule: Rule, reason: String },
    #[error("`{asked}` is no threshold of `{}` that would make this alarm go", rule.id())]
    NoSuchThreshold { asked: String, rule: Rule },
    #[error("`{value}` is no value for `{path}`: {problem}")]
    BadValue { path: String, value: String, problem: String },
    #[error("with `{asked}` the alarm of decision {decision} would still come, or come earlier")]
    NotEnough { asked: String, decision: u64, offer: String },
    #[error("`{}` was about no command", rule.id())]
    NoCommand { rule: Rule },
}

impl Explain for TuneError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::NoAlarm { .. } | Self::NoneAtAll { .. } => {
                "find the alarms with `tripwire log --level override`".into()
            }
            Self::NotTunable { rule: Rule::Floor | Rule::Publish, .. } => {
                "let this one command pass with `tripwire allow CODE`; the code is in the refusal".into()
            }
            Self::NotTunable { .. } => "see what it is for with `tripwire why`".into(),
            Self::NoSuchThreshold { .. } | Self::NoCommand { .. } => "see the offers with `tripwire tune`".into(),
            Self::NotEnough { decision, offer, .. } => format!("`tripwire tune {decision} {offer}` is enough").into(),
            Self::BadValue { .. } => "list all settings with `tripwire policy show`".into(),
        }
    }

    fn exit_class(&self) -> ExitClass {
        match self {
            Self::NotTunable { .. } => ExitClass::Refused,
            Self::NoAlarm { .. }
            | Self::NoneAtAll { .. }
            | Self::NoSuchThreshold { .. }
            | Self::BadValue { .. }
            | Self::NotEnough { .. }
            | Self::NoCommand { .. } => ExitClass::BadInput,
        }
    }
}

/// Runs the verb.
pub(crate) fn run(args: &TuneArgs) -> Result<Exit, Problem> {
    person::only("tune", &args.which.place)?;
    let workspace = args.which.place.look()?;
    let session = args.which.find(workspace.layout())?;
    let driver = Driver::resume(workspace.layout(), &session)?;
    let journal = open_existing(workspace.layout(), &session)?;
    let inputs = past::inputs(Pairs::new(&journal), usize::MAX)?;
    let alarm = find(args, &driver, &inputs)?;
    if !offer::is_tunable(alarm.rule) {
        return Err(TuneError::NotTunable { rule: alarm.rule, reason: alarm.reason }.into());
    }
    let tuning = Tuning { args, workspace: &workspace, driver: &driver, inputs: &inputs, alarm: &alarm };
    match tuning.chosen()? {
        Some(offer) => tuning.carry_out(&offer, tuning.target()?),
        None => tuning.ask(),
    }
}

/// The alarm that was named, or the last one.
fn find(args: &TuneArgs, driver: &Driver, inputs: &[Input]) -> Result<PastAlarm, Problem> {
    let session = driver.session().to_string();
    let alarms = past::alarms(inputs, driver.policy()).unwrap_or_default();
    let Some(decision) = args.decision else {
        // The wait after an alarm follows from it: a person means the alarm itself.
        let noticed = alarms.iter().rfind(|alarm| alarm.rule != Rule::GateCooldown).or(alarms.last()).cloned();
        return Ok(noticed.ok_or(TuneError::NoneAtAll { session })?);
    };
    let count = u64::try_from(inputs.len()).unwrap_or(u64::MAX);
    if decision >= count {
        return Err(Problem::NoDecision { asked: decision, session, count });
    }
    if let Some(alarm) = alarms.into_iter().find(|alarm| alarm.decision == decision) {
        return Ok(alarm);
    }
    match past::refusal(inputs, driver.policy(), decision) {
        Some((rule, reason)) if !offer::is_tunable(rule) => Err(TuneError::NotTunable { rule, reason }.into()),
        Some(_) | None => Err(TuneError::NoAlarm { decision }.into()),
    }
}

/// One alarm of one session, and what a person asked to do about it.
struct Tuning<'a> {
    args: &'a TuneArgs,
    workspace: &'a Workspace,
    driver: &'a Driver,
    inputs: &'a [Input],
    alarm: &'a PastAlarm,
}

impl Tuning<'_> {
    /// What the flags choose; nothing if none does.
    fn chosen(&self) -> Result<Option<Offer>, Problem> {
        let (args, alarm) = (self.args, self.alarm);
        if let Some(pattern) = &args.ignore {
            let own = || offer::patterns(alarm).into_iter().next();
            let pattern = Some(pattern.replace(',', "*")).filter(|text| !text.trim().is_empty()).or_else(own);
            return Ok(Some(Offer::Ignore(pattern.ok_or(TuneError::NoCommand { rule: alarm.rule })?)));
        }
        if args.exempt_tool {
            return Ok(Some(Offer::Exempt(offer::tool_of(alarm))));
        }
        let Some(asked) = &args.raise else { return Ok(None) };
        let (path, value) = asked.split_once('=').map_or((asked.as_str(), None), |(path, to)| (path, Some(to)));
        let none = || TuneError::NoSuchThreshold { asked: path.to_owned(), rule: alarm.rule };
        let offers = offer::offers(alarm, self.inputs, self.driver.policy());
        let offered = offers.into_iter().find(|offer| !offer.is_list() && offer.path() == path).ok_or_else(none)?;
        let Some(value) = value else { return Ok(Some(offered)) };
        let mut trial = self.driver.policy().clone();
        let bad = |problem: String| TuneError::BadValue { path: path.to_owned(), value: value.to_owned(), problem };
        trial.set(path, value).and_then(|()| trial.check()).map_err(|error| bad(error.to_string()))?;
        let moved = offered.moved_to(value).filter(|moved| moved.removes(alarm, self.inputs, self.driver.policy()));
        let (decision, offer) = (alarm.decision, format!("{}{}", offered.flags(), args.which.options()));
        Ok(Some(moved.ok_or_else(|| TuneError::NotEnough { asked: asked.clone(), decision, offer })?))
    }

    fn target(&self) -> Result<SettingsTarget, Problem> {
        let target = if self.args.everywhere {
            SettingsTarget::everywhere(self.workspace)
        } else {
            SettingsTarget::here(self.workspace)
        };
        target.ok_or(Problem::NoHome)
    }

    /// Shows the offers; on a terminal a person chooses one.
    fn ask(&self) -> Result<Exit, Problem> {
        let offers = offer::offers(self.alarm, self.inputs, self.driver.policy());
        let asks = !self.args.form.json && std::io::stdin().is_terminal() && print::is_terminal();
        let mut out = Out::lock();
        let PastAlarm { decision, rule, reason, .. } = self.alarm;
        let options = self.args.which.options();
        if self.args.form.json {
            let listed: Vec<_> = offers.iter().map(|offer| self.as_json(offer, &self.difference(offer))).collect();
            out.line(
                &json!({"decision": decision, "rule": rule.id(), "reason": reason, "offers": listed}).to_string(),
            )?;
            out.flush()?;
            return Ok(Exit::Held);
        }
        let mut lines = vec![format!("alarm       {decision}: {reason} [{}]", rule.id())];
        if !self.alarm.signature.is_empty() {
            let command = policy::command_of(&self.alarm.signature).unwrap_or(&self.alarm.signature);
            lines.push(format!("about       `{command}`"));
        }
        for (number, offer) in offers.iter().enumerate() {
            let how = if asks {
                format!("{}", number + 1)
            } else {
                format!("tripwire tune {decision} {}{options}", offer.flags())
            };
            let effect = effect(&self.difference(offer));
            lines.push(match asks {
                true => format!("  {how:<9} {}: {effect}", offer.words()),
                false => format!("offer       {}: {effect}; `{how}`", offer.words()),
            });
        }
        if offers.is_empty() {
            lines.push(format!(
                "offer       none: no single setting makes this alarm go; save it with `tripwire not-a-loop \
                 {decision}{options}`"
            ));
        }
        for line in terminal::fit(&lines, terminal::columns_of_output()) {
            out.prose(&line)?;
        }
        out.flush()?;
        if !asks || offers.is_empty() {
            print::say("nothing was changed: choose by a flag; `--everywhere` for all your workspaces");
            return Ok(Exit::Held);
        }
        self.choose(&offers)
    }

    fn choose(&self, offers: &[Offer]) -> Result<Exit, Problem> {
        let number = print::question(&format!("which? [1-{}, empty for none] ", offers.len()));
        let chosen = number.trim().parse::<usize>().ok().and_then(|number| offers.get(number.checked_sub(1)?));
        let Some(offer) = chosen else {
            print::say("nothing was changed");
            return Ok(Exit::Held);
        };
        let everywhere = self.args.everywhere
            || matches!(print::question("here or everywhere? [H/e] ").trim(), "e" | "E" | "everywhere");
        let target =
            if everywhere { SettingsTarget::everywhere(self.workspace) } else { SettingsTarget::here(self.workspace) };
        self.carry_out(offer, target.ok_or(Problem::NoHome)?)
    }

    /// Writes the change, and says what it does.
    fn carry_out(&self, offer: &Offer, target: SettingsTarget) -> Result<Exit, Problem> {
        let difference = self.difference(offer);
        let written = if self.args.dry_run { None } else { Some(target.write(offer)?) };
        let mut out = Out::lock();
        if self.args.form.json {
            let mut object = self.as_json(offer, &difference);
            object["written"] = json!(written.as_ref().map(|written| &written.file));
            out.line(&object.to_string())?;
            out.flush()?;
            return Ok(Exit::Done);
        }
        let mut lines = vec![format!("change      {}: {}", offer.words(), effect(&difference))];
        lines.extend(
            difference
                .gone
                .iter()
                .take(GONE_SHOWN)
                .map(|alarm| format!("  vanishes  {:>6}  {} [{}]", alarm.decision, alarm.reason, alarm.rule.id())),
        );
        if difference.gone.len() > GONE_SHOWN {
            lines.push(format!("            and {} more", difference.gone.len() - GONE_SHOWN));
        }
        match &written {
            None => lines.push("written     nothing (`--dry-run`)".to_owned()),
            Some(Written { file, line, unchanged: false }) => {
                lines.push(format!("written     `{line}` in {}", short_path(file)));
                lines.push(
                    "counts      from the next session on; a running one keeps the policy that it froze".to_owned(),
                );
            }
            Some(Written { file, line, unchanged: true }) => {
                lines.push(format!("written     nothing: `{line}` is in {} already", short_path(file)));
            }
        }
        if target.is_overridden(offer, self.workspace) {
            lines.push(format!(
                "warning     this workspace's manifest sets `{}` itself, which comes first here",
                offer.path()
            ));
        }
        for line in terminal::fit(&lines, terminal::columns_of_output()) {
            out.prose(&line)?;
        }
        out.flush()?;
        Ok(Exit::Done)
    }

    /// What an offer would change in the recorded sessions of this workspace, and everywhere in those of all that are known.
    fn difference(&self, offer: &Offer) -> Difference {
        let mut sum = Difference::default();
        let mut roots = vec![self.workspace.clone()];
        if self.args.everywhere {
            let known = workspace::known().map(|known| known.list()).unwrap_or_default();
            let others = known.iter().filter(|root| root.as_path() != self.workspace.root());
            roots.extend(others.filter_map(|root| Workspace::locate(root, &workspace::places()).ok()));
        }
        let mut left = INPUTS_MAX;
        for root in &roots {
            let sessions = views::sessions(root.layout()).unwrap_or_default();
            for session in sessions.iter().rev().take(SESSIONS_MAX) {
                // A journal that cannot be read is for `verify` to report.
                let Ok(driver) = Driver::resume(root.layout(), session) else { continue };
                let Ok(journal) = open_existing(root.layout(), session) else { continue };
                let Ok(inputs) = past::inputs(Pairs::new(&journal), left) else { continue };
                left = left.saturating_sub(inputs.len());
                let Some(changed) = offer.over(driver.policy()) else { continue };
                let of_session = past::difference(&inputs, driver.policy(), &changed);
                sum.gone.extend(of_session.gone);
                sum.stay += of_session.stay;
                sum.new += of_session.new;
            }
        }
        sum
    }

    fn as_json(&self, offer: &Offer, difference: &Difference) -> serde_json::Value {
        let gone: Vec<_> = difference
            .gone
            .iter()
            .map(|alarm| json!({"decision": alarm.decision, "rule": alarm.rule.id(), "reason": alarm.reason}))
            .collect();
        json!({
            "setting": offer.path(), "value": offer.value(self.driver.policy()), "words": offer.words(),
            "flags": offer.flags(), "vanish": gone, "stay": difference.stay, "new": difference.new,
        })
    }
}

/// What an offer does, in one sentence.
fn effect(difference: &Difference) -> String {
    let gone = difference.gone.len();
    let mut text = format!(
        "{} would vanish, {} {}",
        counted(gone, "past alarm"),
        difference.stay,
        agreeing(difference.stay, "stays", "stay")
    );
    if difference.new > 0 {
        text.push_str(&format!(", {} would come instead", difference.new));
    }
    text
}

/// Vanishing alarms that are shown one by one.
const GONE_SHOWN: usize = 8;
/// Sessions of a workspace that are decided again.
const SESSIONS_MAX: usize = 50;
/// Inputs that are decided again for one offer.
const INPUTS_MAX: usize = 100_000;
