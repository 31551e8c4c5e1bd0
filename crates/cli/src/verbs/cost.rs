//! `tripwire cost`: the arithmetic of what model calls cost, and the price list that it rests on.

use crate::error::Problem;
use crate::exit::Exit;
use crate::print::table::{Column, Table};
use crate::print::{Form, Out, money};
use crate::workspace::Where;
use clap::Args;
use serde_json::json;
use std::borrow::Cow;
use tripwire_core::explain::Explain;
use tripwire_core::ledger::{Ledger, LedgerRecord, SettledCall};
use tripwire_core::prices::{self, PriceList};
use tripwire_core::units::Tokens;
use tripwire_session::ledger::LedgerBook;
use tripwire_workspace::policy_file;

/// Show what each model call cost and why, or the price list.
///
/// The calls are those that gateways and our own loop settled in this workspace. A session stands with its agents: what each of
/// them cost is told after the calls.
#[derive(Debug, Args)]
pub(crate) struct CostArgs {
    /// Only calls of this session, agent or key, and of the workers that it sent.
    #[arg(value_name = "SESSION")]
    session: Option<String>,
    /// Show the arithmetic of one line.
    #[arg(long, value_name = "N")]
    explain: Option<u64>,
    /// Show the dated price list.
    #[arg(long, conflicts_with_all = ["session", "explain"])]
    prices: bool,
    #[command(flatten)]
    place: Where,
    #[command(flatten)]
    form: Form,
}

/// There is no such line.
#[derive(Debug, thiserror::Error)]
#[error("the ledger has no settled call `{0}`")]
struct NoCallError(u64);

impl Explain for NoCallError {
    fn hint(&self) -> Cow<'_, str> {
        "list them with `tripwire cost`".into()
    }
}

/// Runs the verb.
pub(crate) fn run(args: &CostArgs) -> Result<Exit, Problem> {
    let workspace = args.place.look()?;
    let prices = policy_file::load_for(workspace.layout())?.policy.price_list();
    if args.prices {
        return list(args, &prices);
    }
    let mut calls = Vec::new();
    if let Some(book) = LedgerBook::look(workspace.layout())? {
        book.each(|line| {
            if let LedgerRecord::Settled(call) = line.record
                && args
                    .session
                    .as_ref()
                    .is_none_or(|name| call.path.iter().any(|account| account.name.as_str() == name))
            {
                calls.push((line.index, call));
            }
        })?;
    }
    if let Some(number) = args.explain {
        let call = calls.iter().find(|(index, _)| *index == number).ok_or(NoCallError(number))?;
        return explain(args, call.0, &call.1, &prices);
    }
    let total: u64 = calls.iter().map(|(_, call)| call.micro_usd.get()).sum();
    if args.form.json {
        as_object(&calls, total)?;
    } else {
        show(args, &calls, total)?;
    }
    Ok(Exit::Done)
}

/// Everything as one object.
fn as_object(calls: &[(u64, Box<SettledCall>)], total: u64) -> Result<(), Problem> {
    let lines: Vec<_> = calls.iter().map(|(index, call)| as_json(*index, call)).collect();
    let accounts: Vec<_> = accounts(calls)
        .accounts()
        .map(|(id, account)| json!({"account": id, "calls": account.calls(), "micro_usd": account.total()}))
        .collect();
    let mut out = Out::lock();
    out.line(&json!({"version": 1, "calls": lines, "accounts": accounts, "micro_usd": total}).to_string())?;
    out.flush()?;
    Ok(())
}

/// The calls as a table, and the accounts of a session after them.
fn show(args: &CostArgs, calls: &[(u64, Box<SettledCall>)], total: u64) -> Result<(), Problem> {
    let mut out = Out::lock();
    if calls.is_empty() {
        out.line("no model call was settled here; `tripwire run`, `agent` and `gateway` settle theirs")?;
        out.flush()?;
        return Ok(());
    }
    let mut table = Table::new(&[
        Column::figure("line"),
        Column::text("day"),
        Column::text("caller"),
        Column::text("model"),
        Column::figure("tokens"),
        Column::figure("cost"),
        Column::text("end"),
    ]);
    for (index, call) in calls {
        let caller = call.path.first().map(ToString::to_string).unwrap_or_default();
        let mark = if is_estimate(call) { "~" } else { "" };
        table.row(vec![
            (index.to_string(), None),
            (call.day.to_string(), None),
            (caller, None),
            (call.model.to_string(), None),
            (call.usage.total().to_string(), None),
            (format!("{mark}{}", money::exactly(call.micro_usd.get())), None),
            (call.end.as_str().to_owned(), None),
        ]);
    }
    let mut lines: Vec<_> = table.lines().into_iter().collect();
    if args.session.is_some() {
        let mut table = Table::new(&[Column::text("account"), Column::figure("calls"), Column::figure("cost")]);
        for (id, account) in accounts(calls).accounts() {
            table.row(vec![
                (id.to_string(), None),
                (account.calls().to_string(), None),
                (money::exactly(account.total().get()), None),
            ]);
        }
        lines.push(String::new());
        lines.extend(table.lines());
    }
    for line in lines {
        out.line(&line)?;
    }
    out.line(&format!("together {}", money::exactly(total)))?;
    out.flush()?;
    Ok(())
}

/// The accounts of some calls, each with what was booked on it and on those below it.
fn accounts(calls: &[(u64, Box<SettledCall>)]) -> Ledger {
    let mut ledger = Ledger::default();
    for (_, call) in calls {
        ledger.restore(call);
    }
    ledger
}

fn is_estimate(call: &SettledCall) -> bool {
    !call.source.is_told() || call.price_estimated
}

fn as_json(index: u64, call: &SettledCall) -> serde_json::Value {
    json!({"line": index, "call": call, "estimated": is_estimate(call)})
}

/// The sum of one call, class by class.
fn explain(args: &CostArgs, index: u64, call: &SettledCall, prices: &PriceList) -> Result<Exit, Problem> {
    let usage = &call.own_usage();
    let own = prices.of(call.model.as_str());
    let [input, cached, written, written_long, output] = own.rates(usage.input());
    let audio = call.audio;
    let [audio_input, audio_cached] = own.audio_rates(usage.input()).unwrap_or([input, cached]);
    let classes = [
        ("fresh input", usage.fresh_input.minus(audio.fresh), input),
        ("fresh audio", audio.fresh, audio_input),
        ("cache read", usage.cache_read.minus(audio.cached), cached),
        ("cache read, audio", audio.cached, audio_cached),
        ("cache write, 5 min", usage.cache_write, written),
        ("cache write, 1 h", usage.cache_write_long, written_long),
        ("output and reasoning", usage.output.plus(usage.reasoning), output),
    ];
    let others =
        call.other_models.iter().map(|other| (other, prices.cost(other.model.as_str(), &other.usage).micro_usd));
    let others: Vec<_> = others.collect();
    let list = others.iter().fold(own.cost(usage, audio).micro_usd, |sum, (_, paid)| sum.plus(*paid));
    let mut out = Out::lock();
    if args.form.json {
        let lines: Vec<_> = classes
            .iter()
            .map(|(class, tokens, rate)| json!({"class": class, "tokens": tokens, "micro_usd_per_1000": rate}))
            .collect();
        let others: Vec<_> =
            others.iter().map(|(other, paid)| json!({"model": other.model, "micro_usd": paid})).collect();
        let object = json!({"version": 1, "line": index, "classes": lines, "other_models": others,
            "list_micro_usd": list, "call": call});
        out.line(&object.to_string())?;
    } else {
        out.line(&format!("{} on {}, {}", call.model, call.day, call.end.as_str()))?;
        for (class, tokens, rate) in classes.iter().filter(|(_, tokens, _)| !tokens.is_zero()) {
            let part = u64::from(*rate).saturating_mul(tokens.get());
            out.line(&format!(
                "  {class:<22} {tokens:>9} x ${}.{:03}/M = {part} / 1000 µ$",
                rate / 1_000,
                rate % 1_000
            ))?;
        }
        for (other, paid) in &others {
            out.line(&format!("  {}: {} tokens, {}", other.model, other.usage.total(), money::exactly(paid.get())))?;
        }
        out.line(&format!("  list price, rounded up: {}", money::exactly(list.get())))?;
        if call.micro_usd != list {
            out.line(&format!(
                "  with tiers, tools or what could not be read: {}",
                money::exactly(call.micro_usd.get())
            ))?;
        }
        out.line(&format!(
            "  reserved {}, booked {}",
            money::exactly(call.reserved.get()),
            money::exactly(call.micro_usd.get())
        ))?;
        if is_estimate(call) {
            out.line(
                "  an estimate: the provider's figures or the model's price were not to be had or not to be believed",
            )?;
        }
    }
    out.flush()?;
    Ok(Exit::Done)
}

fn list(args: &CostArgs, own: &PriceList) -> Result<Exit, Problem> {
    let mut out = Out::lock();
    if args.form.json {
        let models: Vec<_> = prices::listed()
            .map(|model| {
                json!({"name": model.name, "window": model.window, "micro_usd_per_1000": model.rates,
                    "audio_micro_usd_per_1000": model.audio,
                    "long": model.long.map(|(above, rates)| json!({"above": above, "micro_usd_per_1000": rates}))})
            })
            .collect();
        let own: Vec<_> =
            own.own().iter().map(|(name, rates)| json!({"name": name, "micro_usd_per_1000": rates})).collect();
        let object = json!({"version": 1, "read_on": prices::LISTED_ON, "models": models, "own": own});
        out.line(&object.to_string())?;
        out.flush()?;
        return Ok(Exit::Done);
    }
    out.line(&format!("list prices in $ per million tokens, read on {}", prices::LISTED_ON))?;
    let mut table = Table::new(&[
        Column::text("model"),
        Column::figure("input"),
        Column::figure("cache read"),
        Column::figure("write 5 min"),
        Column::figure("write 1 h"),
        Column::figure("output"),
        Column::figure("audio"),
        Column::figure("audio read"),
    ]);
    let with_audio = |model: &str| own.of(model).audio_rates(Tokens::ZERO);
    let own = own.own().iter().map(|(name, rates)| (format!("{name} (money.prices)"), rates, with_audio(name)));
    let listed = prices::listed().map(|model| (model.name.to_owned(), model.rates, model.audio));
    for (name, rates, audio) in own.chain(listed) {
        let mut row = vec![(name, None)];
        let rates = rates.map(Some).into_iter().chain(audio.map_or([None; 2], |audio| audio.map(Some)));
        row.extend(
            rates.map(|rate| {
                (rate.map_or_else(String::new, |rate| format!("{}.{:03}", rate / 1_000, rate % 1_000)), None)
            }),
        );
        table.row(row);
    }
    for line in table.lines() {
        out.line(&line)?;
    }
    out.flush()?;
    Ok(Exit::Done)
}
