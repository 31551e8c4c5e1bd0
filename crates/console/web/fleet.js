// The fleet of this machine: its machines, what they run and what holds them, budgets and rates.

import { get } from "./api.js";
import { h, bar, chip, code, empty, replace } from "./dom.js";
import { ago, count, counted, money } from "./format.js";
import { tile } from "./sessions.js";

const PRESENCE = { alive: "good", silent: "bad", left: "" };
const POLICY = {
  in_step: ["in step", "good"], drift: ["drift", "bad"], no_bundle: ["no bundle", ""], refused: ["bundle refused", "bad"], unreported: ["not reported yet", "warn"],
};
const AGAIN = 2000;

function tiles(data) {
  const of = (presence) => data.machines.filter((one) => one.presence === presence).length;
  const sum = (part) => data.machines.reduce((all, one) => all + part(one), 0);
  const [silent, held] = [of("silent"), data.machines.filter((one) => one.held).length];
  const waiting = sum((one) => one.waiting.length);
  return h("section", { class: "tiles", "aria-label": "At a glance" },
    tile("Alive", count(of("alive")), silent ? `${counted(silent, "machine")} silent` : `of ${counted(data.machines.length, "machine")}`, silent ? "bad" : of("alive") ? "good" : ""),
    tile("Held by an order", count(held), held ? "see the machines" : "none", held ? "warn" : ""),
    tile("Waiting for a person", count(waiting), waiting ? "tripwire approvals --fleet" : "nothing waits", waiting ? "warn" : ""),
    tile("Sessions", count(sum((one) => one.sessions.length)), `${count(sum((one) => one.sessions.reduce((all, session) => all + session.records, 0)))} records copied`));
}

function machine(one, now) {
  const [policy, tone] = POLICY[one.policy.standing] || [one.policy.standing, ""];
  const labels = Object.entries(one.labels).map(([key, value]) => `${key}=${value}`).join(" ");
  return h("tr", {},
    h("td", {}, h("b", {}, one.machine), h("small", {}, labels || "no label")),
    h("td", {}, chip(one.presence, PRESENCE[one.presence]), h("small", {}, `heard ${ago(one.at_ms, now)} ago`)),
    h("td", {}, counted(one.sessions.length, "session"), h("small", {}, one.waiting.length ? `${counted(one.waiting.length, "question")} for a person` : "nothing waits")),
    h("td", {}, chip(policy, tone)),
    h("td", {}, one.held ? [chip(one.held.act, "warn"), h("small", {}, `${one.held.who}: ${one.held.reason}`)] : "–", one.problems.map((problem) => h("small", { class: "bad-text" }, problem))));
}

function budget([name, pool]) {
  const out = Object.values(pool.blocks).reduce((all, block) => all + block.granted, 0);
  const share = pool.limit ? pool.settled / pool.limit : 0;
  return h("tr", {}, h("td", {}, h("b", {}, name)), h("td", {}, `${money(pool.settled)} of ${money(pool.limit)}`, bar(share, share >= 1 ? "bad" : share >= 0.8 ? "warn" : "accent", `${Math.round(share * 100)} per cent of the budget`)), h("td", {}, out ? `${money(out)} taken by machines` : "nothing taken"));
}

function rate([name, one]) {
  return h("tr", {}, h("td", {}, h("b", {}, name)), h("td", {}, `${count(one.per_minute)} calls a minute`), h("td", {}, `${count(one.left)} left now`));
}

function table(title, heads, rows) {
  if (!rows.length) return null;
  return h("section", {}, h("h2", {}, title), h("table", { class: "panel policy" }, h("thead", {}, h("tr", {}, heads.map((name) => h("th", { scope: "col" }, name)))), h("tbody", {}, rows)));
}

export class FleetView {
  constructor() {
    this.box = h("div");
    this.element = h("div", { class: "view" }, h("h1", {}, "Fleet"), this.box);
    this.keys = [["s", "sessions"], ["a", "approvals"], ["p", "policy"], ["t", "theme"], ["?", "help"]];
  }

  async load() {
    const { fleet: data, now } = await get("fleet");
    if (!data) return void replace(this.box, empty("This machine belongs to no fleet.", "Join one with ", code("tripwire fleet join"), "."));
    replace(this.box, h("p", { class: "muted" }, `${data.fleet} as ${data.machine}`), tiles(data),
      data.machines.length ? table("Machines", ["Machine", "Heard", "Work", "Policy", "Held by"], data.machines.map((one) => machine(one, now))) : empty("No machine has served yet.", code("tripwire fleet serve"), " does."),
      table("Budgets", ["Budget", "Settled", "Out"], Object.entries(data.budgets).map(budget)), table("Rates", ["Rate", "Limit", "Left"], Object.entries(data.rates).map(rate)));
    clearTimeout(this.later);
    // What other machines do changes no file here.
    this.later = setTimeout(() => { if (this.element.isConnected) this.load().catch(() => {}); }, AGAIN);
  }

  changed() {}
}
