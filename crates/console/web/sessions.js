// All sessions of this machine, those that were heard of last first.

import { get } from "./api.js";
import { h, bar, chip, code, empty, replace } from "./dom.js";
import { ago, count, money, ratio, tail, toneOfHealth, toneOfState, verdict } from "./format.js";

const FIRST = 60;

export function tile(name, value, note, tone) {
  return h("div", { class: `tile ${tone || ""}` }, h("span", { class: "tile-name" }, name), h("b", {}, value), h("small", {}, note));
}

function tiles(data) {
  const all = data.sessions;
  const live = all.filter((one) => one.live);
  const waits = all.filter((one) => one.waiting > 0);
  const day = all.filter((one) => data.now - one.last_activity_ms < 86400000);
  const spent = day.reduce((sum, one) => sum + one.spent_micro_usd, 0);
  const ended = all.filter((one) => /^(stopped|BROKEN)/.test(one.state));
  return h("section", { class: "tiles", "aria-label": "At a glance" },
    tile("Live", count(live.length), `of ${count(all.length)} sessions`, live.length ? "good" : ""),
    tile("Waiting for you", count(waits.length), waits.length ? "see Approvals" : "nothing waits", waits.length ? "warn" : ""),
    tile("Spent", money(spent), "sessions of the last 24 hours"),
    tile("Stopped by the guard", count(ended.length), ended.length ? "open one for the reason" : "none", ended.length ? "bad" : ""));
}

export function meter(session) {
  const budget = session.budget_micro_usd;
  const share = budget ? session.spent_micro_usd / budget : 0;
  return h("span", { class: "cell money" }, h("b", {}, money(session.spent_micro_usd)), budget ? h("small", {}, ` of ${money(budget)}`) : null,
    budget ? bar(share, share >= 1 ? "bad" : share >= 0.800 ? "warn" : "accent", `${Math.round(share * 100)} per cent of the budget`) : null);
}

function row(session, now) {
  const [tests, tone] = verdict(session.verdict);
  const known = session.health !== undefined;
  const health = known ? session.health : 0;
  const context = session.context || 0;
  return h("a", { class: "session-row", role: "listitem", href: `#/s/${session.key}/${session.session}`, "data-key": `${session.key}/${session.session}` },
    h("span", { class: "cell state" }, h("i", { class: `dot ${toneOfState(session.state)}` }), session.state),
    h("span", { class: "cell name" }, h("b", {}, session.session), h("small", { title: session.workspace }, `${session.client === "-" ? "no client" : session.client} · ${tail(session.workspace, 2)}`)),
    meter(session),
    h("span", { class: "cell health" }, known ? [h("b", {}, ratio(health)), h("small", {}, "health"), bar(health / 1e6, toneOfHealth(health), `health ${ratio(health)}`)] : "–"),
    h("span", { class: "cell context" }, known ? [h("b", {}, `${context}%`), h("small", {}, "context"), bar(context / 100, context >= 85 ? "bad" : context >= 75 ? "warn" : "accent", `context ${context} per cent`)] : "–"),
    h("span", { class: "cell tests" }, chip(tests, tone)),
    h("span", { class: "cell last" }, `${ago(session.last_activity_ms, now)} ago`),
    h("span", { class: "cell alarm", title: session.alarm ? session.alarm.reason : "" }, session.alarm ? [chip(session.alarm.rule, "warn"), ` ${session.alarm.reason}`] : session.how || ""));
}

function passes(session, words) {
  const text = `${session.session} ${session.client} ${session.state} ${session.workspace} ${session.verdict || ""} ${session.alarm ? `${session.alarm.rule} ${session.alarm.reason}` : ""}`.toLowerCase();
  return words.every((word) => text.includes(word));
}

export class SessionsView {
  constructor() {
    this.filter = h("input", { type: "search", class: "filter", placeholder: "Filter sessions: client, state, workspace, rule", "aria-label": "Filter sessions", id: "filter", autocomplete: "off", spellcheck: "false" });
    this.filter.addEventListener("input", () => this.list());
    this.top = h("div");
    this.rows = h("div", { class: "session-list", role: "list", "aria-label": "Sessions" });
    this.note = h("p", { class: "muted", role: "status" });
    this.element = h("div", { class: "view" }, h("h1", { class: "hidden" }, "Sessions"), this.top, h("div", { class: "tools" }, this.filter, this.note), h("div", { class: "session-head", "aria-hidden": "true" },
      ["State", "Session", "Spent", "Health", "Context", "Tests", "Last activity", "Last alarm"].map((name) => h("span", {}, name))), this.rows);
    this.keys = [["/", "filter"], ["j k", "move"], ["↵", "open"], ["a", "approvals"], ["p", "policy"], ["t", "theme"], ["?", "help"]];
  }

  async load() {
    this.data = await get("sessions");
    replace(this.top, banners(this.data), tiles(this.data));
    this.list();
  }

  list() {
    const words = this.filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = this.data.sessions.filter((one) => passes(one, words));
    this.note.textContent = words.length ? `${count(found.length)} of ${count(this.data.sessions.length)}` : "";
    const mine = (this.drawn = {});
    if (!found.length) {
      replace(this.rows, this.data.sessions.length ? empty("Nothing passes the filter.", "Clear it with Escape.") : empty("No sessions yet.", "Begin one with ", code("tripwire run claude"), ", or guard every session with ", code("tripwire init"), "."));
      return;
    }
    const focused = document.activeElement?.dataset?.key;
    replace(this.rows, found.slice(0, FIRST).map((one) => row(one, this.data.now)));
    if (focused) [...this.rows.children].find((one) => one.dataset.key === focused)?.focus();
    const more = (from) => {
      if (this.drawn !== mine || from >= found.length) return;
      this.rows.append(...found.slice(from, from + FIRST).map((one) => row(one, this.data.now)));
      setTimeout(() => more(from + FIRST));
    };
    setTimeout(() => more(FIRST));
  }

  changed() {
    clearTimeout(this.later);
    this.later = setTimeout(() => this.load().catch(() => {}), this.data && this.data.sessions.length > 200 ? 1000 : 60);
  }

  move(by) {
    const rows = [...this.rows.querySelectorAll(".session-row")];
    const at = rows.indexOf(document.activeElement);
    rows[Math.max(0, Math.min(rows.length - 1, at + by))]?.focus();
  }
}

// Orders that stand in a workspace, and how they are taken back.
export function banners(data) {
  const standing = data.workspaces.filter((one) => one.stop || one.pause);
  return standing.map((one) => h("p", { class: `banner ${one.stop ? "bad" : "warn"}` }, h("b", {}, one.stop ? "STOP stands" : "Paused"), ` in ${one.root}. `, "Take it back with ", code(one.resumedBy)));
}
