//! A morning page for others: what an agent or a person wrote becomes its length; figures, rules and names of tools stay.

use super::data::{MorningPage, SessionPage};

pub(super) fn without_names(mut page: MorningPage) -> MorningPage {
    page.sessions.iter_mut().for_each(hide);
    page
}

fn hide(session: &mut SessionPage) {
    let SessionPage {
        workspace,
        alarms,
        refusals,
        files,
        undo_points,
        switches,
        people,
        claims,
        verification,
        replay,
        ..
    } = session;
    *workspace = "‹workspace›".to_owned();
    for alarm in alarms {
        alarm.reason = hidden("reason", &alarm.reason);
    }
    for refusal in refusals {
        refusal.call = hidden("call", &refusal.call);
        refusal.reason = hidden("reason", &refusal.reason);
    }
    for (number, file) in (1_u64..).zip(files) {
        let ending = file.path.rsplit('/').next().and_then(|name| name.rsplit_once('.')).map(|(_, ending)| ending);
        let ending =
            ending.filter(|ending| ending.len() <= 8 && ending.bytes().all(|byte| byte.is_ascii_alphanumeric()));
        file.path = ending.map_or_else(|| format!("‹file {number}›"), |ending| format!("‹file {number}›.{ending}"));
    }
    for point in undo_points {
        point.call = hidden("call", &point.call);
        point.changed = hidden("paths", &point.changed);
    }
    for entry in switches.iter_mut().chain(people).chain(claims) {
        entry.what = hidden("words", &entry.what);
    }
    // What broke may quote a record.
    for text in [verification, replay] {
        if let Some((kept, _)) = text.split_once(": ") {
            *text = kept.to_owned();
        }
    }
}

fn hidden(kind: &str, text: &str) -> String {
    format!("‹{kind}, {} letters›", text.chars().count())
}
