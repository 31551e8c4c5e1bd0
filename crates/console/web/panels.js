// The decision beside a session, what waits for a person, the policy, and the receipts of orders.

import { act, canAct, get } from "./api.js";
import { h, chip, code, copy, empty, replace } from "./dom.js";
import { ago, count, money, ratio, stamp, tail, toneOfLevel } from "./format.js";
import { replayed } from "./session.js";

function pretty(value) {
  return JSON.stringify(value, null, 2);
}

function part(name, ...children) {
  return h("section", { class: "part" }, h("h3", {}, name), ...children);
}

function raw(name, value, hash) {
  const text = pretty(value);
  return h("details", {}, h("summary", {}, name, hash ? h("code", { class: "hash", title: hash }, `sha256:${hash.slice(0, 12)}…`) : null), h("div", { class: "raw" }, copy(text), h("pre", { tabindex: 0 }, text), hash ? h("p", { class: "muted mono" }, `sha256:${hash}`) : null));
}

export async function decision(where, i, link) {
  const data = await get("decision", { ...where, i });
  const { row } = data;
  const safety = data.decision ? data.decision.safety : null;
  const tone = row.verdict === "allowed" ? "good" : row.verdict === "held" ? "warn" : row.verdict ? "bad" : "";
  // Where nothing spoke against a call, what was noticed is of more interest than that.
  if (safety && safety.allowed && data.rules.length > 1) data.rules.push(data.rules.shift());
  const rules = data.rules.map((rule) => {
    const entry = data.titles[rule.id];
    const settings = Object.entries(rule.settings).map(([path, value]) => h("tr", {}, h("td", {}, code(path)), h("td", {}, String(value))));
    return h("div", { class: "rule" }, h("p", {}, h("b", {}, rule.id), entry ? ` ${entry.title}` : ""), entry ? h("p", { class: "muted" }, entry.what) : null, rule.threshold ? h("p", {}, h("span", { class: "tile-name" }, "Threshold "), rule.threshold) : null, settings.length ? h("table", {}, h("tbody", {}, settings)) : null);
  });
  const findings = data.decision ? data.decision.findings.map((finding) => h("p", { class: "reason" }, chip(finding.level, toneOfLevel[finding.level]), ` ${finding.reason} `, h("span", { class: "muted" }, finding.rule), finding.price && finding.price.microUsd ? ` · ${money(finding.price.microUsd)}` : "")) : [];
  const evidence = data.evidenceWords.map(([number, words]) => h("li", {}, h("a", { href: link(number) }, `#${number}`), ` ${words}`));
  return [
    h("h2", { tabindex: "-1", class: "drawer-title" }, `#${i} `, chip(row.verdict || "not decided", tone)),
    h("p", { class: "muted" }, stamp(row.wall), ` · journal record ${data.record}`),
    part("What", h("p", { class: "mono wrap" }, row.text), row.error ? h("p", { class: "mono wrap bad-text" }, row.error) : null, data.who ? h("p", {}, `A person: ${data.who}`) : null),
    safety ? part(row.verdict === "allowed" ? "Answer" : "Why not", h("p", {}, (safety.allowed && row.reason) || safety.reason), findings) : part("Answer", h("p", {}, "A crash came first; the next process decided it in passing.")),
    rules.length ? part("Rule and threshold", rules) : null,
    evidence.length ? part("Evidence", h("ul", { class: "plain" }, evidence)) : null,
    part("Figures", h("dl", {},
      safety ? [h("dt", {}, "Health"), h("dd", {}, typeof safety.health === "number" ? ratio(safety.health * 1e6) : "–")] : null,
      safety && safety.price ? [h("dt", {}, "Cost since the trouble began"), h("dd", {}, `${money(safety.price.microUsd)} · ${count(safety.price.tokens)} tokens`)] : null,
      h("dt", {}, "Replay"), h("dd", {}, replayed(data.replay)),
      h("dt", {}, "Frozen policy"), h("dd", { class: "mono" }, `sha256:${data.policyHash.slice(0, 16)}…`))),
    part("Raw records", raw(`Input, record ${data.record}`, data.input, data.hash), data.decision ? raw(`Decision, record ${data.decisionRecord[0]}`, data.decision, data.decisionRecord[1]) : null),
  ];
}

const ANSWERED = ["command", "review", "budget"];

function title(one) {
  return { command: `Held command ${one.id}`, review: `Proposed change ${one.id}`, budget: "A budget is used up" }[one.kind] || `Session ${one.session}`;
}

// The two buttons of something that waits, with a reason; what came of it stands below them.
function answers(one) {
  const reason = h("input", { type: "text", class: "reason", placeholder: "Why (journaled)", "aria-label": `Reason for ${one.id}` });
  const raise = one.kind === "budget" ? h("input", { type: "number", class: "raise", min: "0.01", step: "0.01", value: "5", "aria-label": "Dollars to add" }) : null;
  const said = h("p", { class: "said", role: "status" });
  const buttons = [];
  const give = (name, label, kind) => {
    const button = h("button", { type: "button", class: kind }, label);
    button.addEventListener("click", async () => {
      buttons.forEach((other) => { other.disabled = true; });
      try {
        const done = await act("answer", { workspace: one.key, id: one.id, verdict: name, reason: reason.value, raiseCents: raise && name === "approve" ? Math.round(Number(raise.value) * 100) : null });
        said.textContent = `${done.approved ? "Approved" : "Denied"}, journaled in ${done.session}`;
      } catch (error) {
        said.textContent = error.message;
        buttons.forEach((other) => { other.disabled = false; });
      }
    });
    buttons.push(button);
    return button;
  };
  return [h("div", { class: "pad answer" }, reason, raise, give("approve", raise ? "Add dollars" : "Approve once", "primary"), give("deny", "Deny", "")), said];
}

export class ApprovalsView {
  constructor() {
    this.box = h("div", { class: "cards-list" });
    this.element = h("div", { class: "view narrow" }, h("h1", {}, "Approvals"), h("p", { class: "muted" }, "What waits for your word. The first answer counts, and an approval is void if the command, its script or its target changes meanwhile. An agent of the same account could read this page's memory: with hooks alone, answers are not proof against it."), this.box);
    this.keys = [["s", "sessions"], ["p", "policy"], ["t", "theme"], ["?", "help"]];
    this.cards = new Map();
  }

  // A card that is there stays: somebody may be writing a reason into it.
  card(one) {
    const key = `${one.key} ${one.id} ${one.what}`;
    if (!this.cards.has(key)) {
      const asks = canAct() && ANSWERED.includes(one.kind);
      const who = [one.client, tail(one.workspace, 2), one.sinceMs ? `${ago(one.sinceMs)} ago` : ""].filter(Boolean).join(" · ");
      this.cards.set(key, h("article", { class: "panel wait" }, h("header", {}, h("h2", {}, title(one)), chip(one.rule || one.kind, "warn"), h("span", { class: "muted" }, who)), one.call ? h("pre", { class: "call", tabindex: 0, "aria-label": "The call" }, one.call) : null, h("p", { class: "pad" }, h("b", {}, one.call ? "What would be hit: " : ""), one.what), ...(asks ? answers(one) : []), h("p", { class: "pad answer" }, code(one.answeredBy), copy(one.answeredBy), one.session ? h("a", { href: `#/s/${one.key}/${one.session}${one.asked === null ? "" : `/${one.asked}`}` }, "Look at the session") : null)));
    }
    return [key, this.cards.get(key)];
  }

  async load() {
    const { waiting } = await get("approvals");
    const shown = new Map(waiting.map((one) => this.card(one)));
    for (const [key, card] of this.cards) if (!shown.has(key)) card.remove();
    this.cards = shown;
    if (!shown.size) return void replace(this.box, empty("Nothing waits for you.", "Held commands, proposed changes, budgets and holds appear here."));
    this.box.querySelector(".empty")?.remove();
    // A card that is in its place is not moved: that would take the focus from what somebody types or is about to press.
    this.box.append(...[...shown.values()].filter((card) => card.parentNode !== this.box));
  }

  changed() {
    clearTimeout(this.later);
    this.later = setTimeout(() => this.load().catch(() => {}), 200);
  }
}

export class PolicyView {
  constructor(key) {
    this.key = key;
    this.choice = h("select", { "aria-label": "Workspace", class: "filter" });
    this.choice.addEventListener("change", () => { location.hash = `#/policy/${this.choice.value}`; });
    this.filter = h("input", { type: "search", class: "filter", id: "filter", placeholder: "Filter settings", "aria-label": "Filter settings", autocomplete: "off" });
    this.filter.addEventListener("input", () => this.list());
    this.box = h("div");
    this.element = h("div", { class: "view narrow" }, h("h1", {}, "Policy"), h("p", { class: "muted" }, "What a session that begins now would be decided under, and where each value comes from. A running session keeps the policy that it was begun with."), h("div", { class: "tools" }, this.choice, this.filter), this.box);
    this.keys = [["/", "filter"], ["s", "sessions"], ["a", "approvals"], ["t", "theme"], ["?", "help"]];
  }

  async load() {
    const { workspaces } = await get("sessions");
    if (!workspaces.length) return replace(this.box, empty("No workspace yet.", "Begin with ", code("tripwire run claude"), "."));
    const key = this.key || workspaces[workspaces.length - 1].key;
    replace(this.choice, workspaces.map((one) => h("option", { value: one.key, selected: one.key === key }, one.root)));
    this.data = await get("policy", { w: key });
    this.list();
  }

  list() {
    const words = this.filter.value.toLowerCase();
    const rows = this.data.settings.filter((row) => `${row.path} ${row.means}`.toLowerCase().includes(words)).map((row) => h("tr", { class: row.from ? "set" : "" }, h("td", {}, code(row.path), h("small", {}, row.means)), h("td", { class: "mono" }, row.value || "–"), h("td", { class: "from", title: row.from || row.source }, row.from ? tail(row.from, 2) : h("span", { class: "muted" }, `default · ${row.source}`))));
    replace(this.box, h("table", { class: "panel policy" }, h("thead", {}, h("tr", {}, ["Setting", "In force", "From"].map((name) => h("th", { scope: "col" }, name)))), h("tbody", {}, rows)), h("p", { class: "muted mono" }, `sha256:${this.data.policyHash}`));
  }

  changed() {}
}

export function receipt(answer) {
  const title = answer.act === "stop" ? "Stopped" : "Paused";
  return [
    h("h2", {}, answer.holds ? title : `${title}, but not everywhere`, " ", chip(answer.holds ? "receipt holds" : "look at this", answer.holds ? "good" : "bad")),
    answer.workspaces.map((one) => h("section", { class: "part" }, h("h3", { title: one.workspace }, tail(one.workspace, 3)),
      one.error ? h("p", { class: "bad-text" }, `${one.error}; ${one.hint}`) : h("ul", { class: "plain" }, one.done.map((line) => h("li", {}, line))),
      one.receipt ? h("p", { class: "receipt" }, h("b", {}, count(one.receipt.ended)), " processes ended · ", h("b", {}, count(one.receipt.survivors)), ` survivors · ${one.receipt.took_ms} ms`) : null)),
    answer.workspaces.length ? h("p", {}, "Take it back with ", code("tripwire resume"), " in the workspace.") : h("p", {}, "There is no workspace to stop."),
  ];
}

export function help() {
  const rows = [["/", "filter"], ["j, k or arrows", "move"], ["Enter", "open"], ["Esc", "close, back"], ["s, a, p, f", "sessions, approvals, policy, fleet"], ["t", "light or dark"], ["?", "this help"]];
  const filters = [["agent:claude", "a client, or a sub-agent by its name"], ["tool:Bash", "a tool"], ["verdict:held", "allowed, held or refused"], ["rule:LOOP-1", "a rule or its family"], ["level:hold", "note, override, hold or stop, and what is stricter"], ["status:error", "calls that failed, or ok"], ["after:02:00 before:15m", "a time of day, a span back, or a stamp"], ["type:human", "a kind of input or of finding"], ["i:10..20", "numbers"], ["-tool:Read", "not this"], ["\"npm test\"", "words in the text"]];
  const table = (all) => h("table", { class: "help" }, h("tbody", {}, all.map(([key, what]) => h("tr", {}, h("td", {}, code(key)), h("td", {}, what)))));
  return [h("h2", {}, "Keys and filters"), table(rows), h("h3", {}, "Filter of records, the same as in tripwire log"), table(filters), h("p", { class: "muted" }, canAct() ? "This tab may act." : "This tab may only read: open the link that tripwire web printed to act.")];
}
