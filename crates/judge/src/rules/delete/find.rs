//! `find -delete` and `find -exec`: what a search finds, no person named one by one.

use super::targets::{self, Manner};
use crate::findings::{Findings, Run};
use crate::line::call::Call;
use crate::line::field::Field;
use crate::search::{Action, Search};
use crate::site::Site;

/// Judges a search by what its actions would hit.
pub(super) fn judge(site: &Site<'_>, call: &Call) -> Findings {
    let search = Search::read(call);
    let mut findings = Findings::default();
    for (number, action) in search.actions.iter().enumerate() {
        if *action == Action::List {
            continue;
        }
        let hits: Vec<Field> = search.hits(site, number).iter().map(|hit| hit_field(hit)).collect();
        // Its `rm` is judged like its `-delete`.
        let deletes = match action {
            Action::List => false,
            Action::Delete => true,
            Action::Execute(command) => {
                command.first().is_some_and(|program| matches!(program.text().as_str(), "rm" | "unlink" | "shred"))
            }
        };
        if deletes {
            findings.hold = targets::judge(site, call.place, Manner::Recursive, &hits);
            if findings.hold.is_some() {
                break;
            }
        }
        if let Action::Execute(command) = action {
            findings.runs.extend(executed(command, &hits).into_iter().map(|args| Run::Program(call.with_args(args))));
            if hits.is_empty() {
                // The line itself may make what is not found yet.
                findings.runs.push(Run::Unlikely(call.with_args(command.clone())));
            }
        }
    }
    findings
}

/// The commands that a search runs on what it found.
fn executed(command: &[Field], hits: &[Field]) -> Vec<Vec<Field>> {
    let sample: Vec<Field> = hits.iter().take(256).cloned().collect();
    if sample.is_empty() {
        return Vec::new();
    }
    let one_by_one = command.iter().any(|field| field.text() != "{}" && field.text().contains("{}"));
    if one_by_one {
        return sample.iter().map(|hit| command.iter().map(|field| field.filled("{}", hit)).collect()).collect();
    }
    let all = |field: &Field| if field.text() == "{}" { sample.clone() } else { vec![field.clone()] };
    vec![command.iter().flat_map(all).collect()]
}

/// A name that was found; one that ends in `/*` is everything in a folder.
fn hit_field(hit: &str) -> Field {
    let mut field = Field::of(hit.strip_suffix("/*").map_or(hit, |_| hit.strip_suffix('*').unwrap_or(hit)));
    if hit.ends_with("/*") {
        field.push_pattern("*");
    }
    field
}
