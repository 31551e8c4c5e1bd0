//! The confirmation page of a link from a message. The link's signature is the authority here: no secret and no cookie of the page.
//!
//! Chat previews, mail scanners and browsers fetch links on their own, so GET and HEAD show and do nothing; only the button's POST
//! answers, and it spends the link.

use super::reply::{NotDone, Reply, with_type};
use super::shared::Shared;
use crate::acts::{self, Face};
use crate::model::ReadModel;
use crate::money::{RAISE_BOUNDS, exactly, raise_of_cents};
use crate::report::escaped;
use hyper::header::{CONTENT_TYPE, HOST, HeaderMap, HeaderValue, ORIGIN};
use hyper::{Method, StatusCode};
use std::collections::BTreeMap;
use tripwire_core::chain::gate::floor::{ApprovalVerdict, HeldCommand};
use tripwire_core::explain::Explain;
use tripwire_core::units::MicroUsd;
use tripwire_session::approval_link::{ApprovalLink, LinkError, LinkKey, LinkSubject};
use tripwire_session::approvals::Answer;
use tripwire_session::driver::Driver;
use tripwire_workspace::clock;
use tripwire_workspace::{Workspace, policy_file};

/// What stands before a link's own text in its path.
pub(super) const PATH: &str = "/link/";

/// What this page may do: send its own form, and nothing else.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// A request for a link.
pub(super) struct LinkRequest {
    pub(super) method: Method,
    pub(super) headers: HeaderMap,
    pub(super) token: String,
    /// The parts of the form; empty for GET.
    pub(super) form: BTreeMap<String, String>,
}

/// Answers a request for a link.
pub(super) fn answer(shared: &Shared, request: &LinkRequest) -> Result<Reply, NotDone> {
    let (workspace, key, base) = place_of(&shared.model, &request.token)?;
    check_host(shared, &request.headers, &base)?;
    let link = match key.read(&request.token, clock::now()) {
        Ok(link) => link,
        Err(error) => return Ok(page(status_of(&error), "No answer", &[error.to_string()], None)),
    };
    let asked = match waiting(&shared.model, &workspace, &link) {
        Ok(asked) => asked,
        Err(why) => return Ok(page(StatusCode::CONFLICT, "No answer", &[why], None)),
    };
    if request.method != Method::POST {
        let lines = [format!("session {}", link.session), asked.rule, asked.reason];
        let lines = redacted(&shared.model, &workspace, &lines)?;
        return Ok(page(StatusCode::OK, &format!("Approve {}?", link.subject.id), &lines, Some(asked.form)));
    }
    check_form(shared, &request.headers, &base)?;
    let says = match request.form.get("answer").map(String::as_str) {
        Some("approve") => ApprovalVerdict::Allowed,
        Some("deny") => ApprovalVerdict::Denied,
        Some(_) | None => return Err(NotDone::bad("the answer is neither `approve` nor `deny`")),
    };
    let raise = match (asked.form, says) {
        (AnswerForm::Budget, ApprovalVerdict::Allowed) => Some(raise_of(&request.form)?),
        (AnswerForm::Command, _) | (_, ApprovalVerdict::Denied) => None,
    };
    // Spent before it acts: of two answers at the same time one is told so.
    if let Err(error) = key.spend(&request.token, clock::now()) {
        return Ok(page(status_of(&error), "No answer", &[error.to_string()], None));
    }
    let reason = request.form.get("reason").map(|text| text.chars().take(REASON_CHARS_MAX).collect());
    let who = Face::Link.sign(&shared.model.host.who);
    let answer = Answer { says, who, reason: reason.unwrap_or_default(), raise };
    match acts::answer(&shared.model, &workspace, &link.subject.id, &answer) {
        Ok(taken) => {
            let said = match says {
                ApprovalVerdict::Allowed => "Approved",
                ApprovalVerdict::Denied => "Denied",
            };
            let lines = [taken.approval.what, format!("journaled in {}", taken.session)];
            Ok(page(StatusCode::OK, said, &redacted(&shared.model, &workspace, &lines)?, None))
        }
        Err(error) => {
            let lines = redacted(&shared.model, &workspace, &[error.to_string(), error.hint().into_owned()])?;
            Ok(page(StatusCode::CONFLICT, "No answer", &lines, None))
        }
    }
}

/// By how much the form raises a budget.
fn raise_of(form: &BTreeMap<String, String>) -> Result<MicroUsd, NotDone> {
    let dollars = form.get("dollars").and_then(|text| text.trim().parse::<u64>().ok());
    dollars
        .and_then(|dollars| raise_of_cents(dollars.checked_mul(CENTS_OF_DOLLAR)?))
        .ok_or_else(|| NotDone::bad(format!("write whole dollars: {RAISE_BOUNDS}")))
}

/// Cents of a dollar.
const CENTS_OF_DOLLAR: u64 = 100;
/// Letters of a reason.
const REASON_CHARS_MAX: usize = 500;

const fn status_of(error: &LinkError) -> StatusCode {
    match error {
        LinkError::NotOurs => StatusCode::FORBIDDEN,
        LinkError::Expired | LinkError::Spent => StatusCode::GONE,
        LinkError::Key(_) | LinkError::File(_) => StatusCode::CONFLICT,
    }
}

/// The workspace that a link is for, its key, and the address under which its page is exposed. What is read of the link here is
/// not trusted yet: it only says which key checks it.
fn place_of(model: &ReadModel, token: &str) -> Result<(Workspace, LinkKey, String), NotDone> {
    let not_ours = || NotDone::new(StatusCode::FORBIDDEN, LinkError::NotOurs.to_string());
    let named = token.split('.').next().unwrap_or_default();
    let mut workspaces = model.host.workspaces().into_iter();
    let workspace = workspaces.find(|workspace| LinkKey::digest_of(workspace.layout()).to_string() == named);
    let workspace = workspace.ok_or_else(not_ours)?;
    let home = model.host.key_home.as_ref().ok_or_else(not_ours)?;
    let key = LinkKey::of(home, workspace.layout()).map_err(|_| not_ours())?;
    let policy = policy_file::load_for(workspace.layout()).map_err(|_| not_ours())?.policy;
    let base = policy.notify.link_base.as_str().trim().trim_end_matches('/').to_owned();
    if base.is_empty() {
        return Err(NotDone::new(StatusCode::FORBIDDEN, "`notify.link_base` is not set any more"));
    }
    Ok((workspace, key, base))
}

/// Refuses a host that is neither the exposed one nor the server's own.
fn check_host(shared: &Shared, headers: &HeaderMap, base: &str) -> Result<(), NotDone> {
    let mut hosts = headers.get_all(HOST).iter();
    let host = hosts.next().filter(|_| hosts.next().is_none()).and_then(|host| host.to_str().ok());
    match host {
        Some(host) if host == authority_of(base) || shared.guard.is_our_name(host) => Ok(()),
        Some(_) | None => Err(NotDone::new(StatusCode::FORBIDDEN, "this host is not served here")),
    }
}

/// Refuses a form that another page sent.
fn check_form(shared: &Shared, headers: &HeaderMap, base: &str) -> Result<(), NotDone> {
    let refused = |why: &str| NotDone::new(StatusCode::FORBIDDEN, why);
    let mut origins = headers.get_all(ORIGIN).iter();
    let origin = origins.next().filter(|_| origins.next().is_none()).and_then(|origin| origin.to_str().ok());
    let origin = origin.ok_or_else(|| refused("the origin is missing"))?;
    let is_own = ["http://", "https://"]
        .iter()
        .filter_map(|scheme| origin.strip_prefix(scheme))
        .any(|name| shared.guard.is_our_name(name));
    if origin != origin_of(base) && !is_own {
        return Err(refused("another origin has nothing to ask here"));
    }
    match headers.get("sec-fetch-site").map(|site| site.to_str()) {
        None | Some(Ok("same-origin" | "none")) => {}
        Some(_) => return Err(refused("another site has nothing to ask here")),
    }
    match headers.get(CONTENT_TYPE).map(|kind| kind.to_str()) {
        Some(Ok("application/x-www-form-urlencoded")) => Ok(()),
        Some(_) | None => Err(NotDone::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "send the form")),
    }
}

/// `https://host:port` of an address.
fn origin_of(base: &str) -> &str {
    let behind = base.find("://").map_or(0, |at| at + 3);
    let end = base.get(behind..).and_then(|rest| rest.find('/')).map_or(base.len(), |at| behind + at);
    base.get(..end).unwrap_or(base)
}

fn authority_of(base: &str) -> &str {
    let origin = origin_of(base);
    origin.split_once("://").map_or(origin, |(_, authority)| authority)
}

/// What a link asks, as it stands now.
struct LinkQuestion {
    rule: String,
    reason: String,
    form: AnswerForm,
}

/// What a person fills in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AnswerForm {
    /// Yes or no.
    Command,
    /// By how much the budget is raised, or no.
    Budget,
}

/// What a link asks, if it still waits as it was.
fn waiting(model: &ReadModel, workspace: &Workspace, link: &ApprovalLink) -> Result<LinkQuestion, String> {
    let cannot = |error: &dyn Explain| format!("{error}; {}", error.hint());
    let mut driver = Driver::resume(workspace.layout(), &link.session)
        .map_err(|error| cannot(&error))?
        .signed_by((model.host.signing)(workspace));
    driver.refresh().map_err(|error| cannot(&error))?;
    let view = driver.view();
    if let Some(held) = view.waiting.iter().find(|held| held.code.as_str() == link.subject.id) {
        return of_command(held, link);
    }
    match LinkSubject::of_budget(&driver) {
        Some(budget) if budget == link.subject => Ok(LinkQuestion {
            rule: "GATE-8".to_owned(),
            reason: format!(
                "the budget of {} is used up: {} were spent",
                exactly(view.budget_micro_usd.unwrap_or_default().get()),
                exactly(view.spent.micro_usd.get())
            ),
            form: AnswerForm::Budget,
        }),
        Some(budget) if budget.id == link.subject.id => {
            Err("the budget has changed since: nothing is answered".to_owned())
        }
        Some(_) | None => Err("nothing waits for this answer any more".to_owned()),
    }
}

fn of_command(held: &HeldCommand, link: &ApprovalLink) -> Result<LinkQuestion, String> {
    if held.digest != link.subject.digest {
        return Err("the command, its script or what it would hit has changed since: nothing is answered".to_owned());
    }
    if held.answer.is_some() {
        return Err("this was answered before; the first answer counts".to_owned());
    }
    Ok(LinkQuestion { rule: held.rule.to_string(), reason: held.reason.to_string(), form: AnswerForm::Command })
}

fn redacted(model: &ReadModel, workspace: &Workspace, lines: &[String]) -> Result<Vec<String>, NotDone> {
    let redactor = model.redactor(workspace)?;
    Ok(lines.iter().map(|line| redactor.redact(line).into_owned()).collect())
}

/// A page without script and style. Its form is sent to the address that it was opened at.
fn page(status: StatusCode, title: &str, lines: &[String], form: Option<AnswerForm>) -> Reply {
    let title = escaped(title);
    let lines: String = lines.iter().map(|line| format!("<p>{}</p>\n", escaped(line))).collect();
    let form = form.map(form_of).unwrap_or_default();
    let text = format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width\">\n\
         <title>tripwire: {title}</title>\n<main>\n<h1>{title}</h1>\n{lines}{form}</main>\n</html>\n"
    );
    let mut reply = with_type(status, "text/html; charset=utf-8", text);
    let policy = HeaderValue::from_static(CONTENT_SECURITY_POLICY);
    reply.headers_mut().insert("content-security-policy", policy);
    // Without a referrer a browser would send the form with the origin `null`.
    reply.headers_mut().insert("referrer-policy", HeaderValue::from_static("same-origin"));
    reply
}

fn form_of(form: AnswerForm) -> String {
    let (field, yes) = match form {
        AnswerForm::Command => ("", "Approve, once"),
        AnswerForm::Budget => (BUDGET_FIELD, "Raise the budget"),
    };
    format!(
        "<form method=\"post\">\n{field}<p><label>Reason <input name=\"reason\" maxlength=\"500\" autocomplete=\"off\"></label></p>\n\
         <p><button name=\"answer\" value=\"approve\">{yes}</button>\n<button name=\"answer\" value=\"deny\">Deny</button></p>\n\
         </form>\n<p>This link answers once and ends after an hour.</p>\n"
    )
}

const BUDGET_FIELD: &str = "<p><label>Dollars to add <input name=\"dollars\" type=\"number\" min=\"1\" max=\"100000\" step=\"1\" \
    value=\"5\"></label></p>\n";

#[cfg(test)]
mod tests {
    use super::{authority_of, origin_of};

    #[test]
    fn approval_link_base_says_which_host_and_origin_count() {
        for (base, origin, authority) in [
            ("https://box.example:8443/tripwire", "https://box.example:8443", "box.example:8443"),
            ("http://10.0.0.2", "http://10.0.0.2", "10.0.0.2"),
        ] {
            assert_eq!((origin_of(base), authority_of(base)), (origin, authority));
        }
    }
}
