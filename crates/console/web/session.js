// One session: how it stands, its curves and lanes, what was noticed, and every record.

import { get } from "./api.js";
import { h, bar, chip, code, copy, empty, replace } from "./dom.js";
import { ago, count, counted, money, ratio, span, stamp, tail, toneOfHealth, toneOfLevel, toneOfState, verdict } from "./format.js";
import { curves, lanes } from "./charts.js";
import { loopGraph } from "./graph.js";
import { Log } from "./log.js";

function card(name, value, note, extra) {
  return h("div", { class: "card" }, h("span", { class: "tile-name" }, name), h("b", {}, value), extra, h("small", {}, note));
}

function truth(walk) {
  const { state } = walk.truth;
  if (state === "verified") return chip(`verified · ${count(walk.truth.records)} records`, "good", `${walk.truth.checkpointsTrusted} signed checkpoints, up to record ${walk.truth.covered}`);
  if (state === "damaged") return chip(`damaged at ${walk.truth.at}`, "bad", walk.truth.cause);
  const share = walk.records ? Math.floor((walk.walked / walk.records) * 100) : 0;
  return chip(`not verified yet · ${share}%`, "", walk.problem || "the journal is being read from its beginning");
}

export function replayed(replay) {
  if (replay.state === "equal") return chip("replays equal", "good", "every decision, decided again, is the same");
  if (replay.state === "differs") return chip(`replay differs at #${replay.i}`, "bad");
  if (replay.state === "notYet") return chip("not replayed yet", "");
  return chip("replay not compared", "", replay.why);
}

function panel(title, note, ...children) {
  return h("section", { class: "panel", "aria-label": title }, h("header", {}, h("h2", {}, title), h("span", { class: "muted" }, note)), ...children);
}

export class SessionView {
  constructor(key, id, open) {
    Object.assign(this, { key, id, open });
    this.where = { w: key, s: id };
    this.log = new Log(this.where, open);
    this.head = h("div");
    this.parts = {};
    for (const name of ["curves", "lanes", "findings", "undo", "loops", "told"]) this.parts[name] = h("div", { class: "part-box" });
    const { curves: drawn, lanes: timeline, ...beside } = this.parts;
    const side = h("div", { class: "side" }, Object.values(beside));
    this.filter = h("input", { type: "search", class: "filter mono", id: "filter", placeholder: "agent:claude tool:Bash verdict:held after:02:00", "aria-label": "Filter records", autocomplete: "off", spellcheck: "false" });
    this.filter.addEventListener("input", () => {
      clearTimeout(this.typed);
      this.typed = setTimeout(() => this.log.search(this.filter.value), 180);
    });
    const records = panel("Records", "newest first", h("div", { class: "tools" }, this.filter, this.log.status), this.log.view);
    records.classList.add("records");
    this.element = h("div", { class: "view" }, this.head, h("div", { class: "columns" }, h("div", { class: "main" }, drawn, timeline, records), side));
    this.keys = [["/", "filter"], ["j k", "move"], ["↵", "why"], ["esc", "back"], ["t", "theme"], ["?", "help"]];
  }

  link(number) {
    return `#/s/${this.key}/${this.id}/${number}`;
  }

  async load() {
    const data = await get("session", this.where);
    this.data = data;
    document.title = `${this.id} · tripwire`;
    replace(this.head, this.top(data));
    this.log.grow(data.rows);
    const walking = data.walk.truth.state === "notVerifiedYet" && !data.walk.problem;
    // While a long journal is being read, its drawings follow in a few steps and not at every look.
    const part = walking && data.walk.records > 20000 ? Math.floor((5 * data.walk.walked) / data.walk.records) : data.end;
    const shape = JSON.stringify([part, data.drops.length > 0, data.lanes.length, data.thresholds === null, walking || data.points.length]);
    if (shape !== this.shape) {
      this.shape = shape;
      this.redraw(data);
    }
    // The walk goes on in the background: look again until it is done.
    clearTimeout(this.later);
    if (walking) this.later = setTimeout(() => this.element.isConnected && this.load().catch(() => {}), data.walk.records > 20000 ? 1500 : 300);
  }

  // One drawing after the other, and none while somebody scrolls: no frame waits for them.
  async redraw(data) {
    const mine = (this.drawing = {});
    const steps = [
      () => replace(this.parts.curves, data.points.length ? panel("Health, money, context", `${count(data.drops.length)} ${data.drops.length === 1 ? "loss" : "losses"} of health`, curves(data, (i) => this.link(i))) : this.nothing(data)),
      () => replace(this.parts.lanes, data.points.length ? panel("Timeline", counted(data.lanes.length, "agent"), lanes(data, this.open)) : null),
      () => replace(this.parts.findings, this.findings(data)),
      () => replace(this.parts.loops, this.graph(data)),
      () => replace(this.parts.told, this.files(data), this.people(data)),
      () => this.undoPoints().catch(() => {}),
    ];
    for (const step of steps) {
      await this.log.resting();
      if (this.drawing !== mine) return;
      step();
    }
  }

  nothing(data) {
    return data.rows ? null : empty("Nothing happened yet.", "The session has begun and no call was made.");
  }

  top(data) {
    const one = data.summary;
    const [tests, tone] = verdict(one.verdict);
    const soft = data.thresholds ? data.thresholds.soft : undefined;
    const hard = data.thresholds ? data.thresholds.hard : undefined;
    const share = one.budget_micro_usd ? one.spent_micro_usd / one.budget_micro_usd : 0;
    const totals = data.totals;
    const damage = data.walk.truth.state === "damaged" ? h("p", { class: "banner bad" }, h("b", {}, `Damaged at record ${data.walk.truth.at}: `), `${data.walk.truth.cause}. What comes before it is shown.`)
      : data.walk.problem ? h("p", { class: "banner warn" }, h("b", {}, "This journal is not read to its end. "), `${data.walk.problem}. What comes before it is shown.`) : null;
    return [
      h("div", { class: "title" }, h("a", { class: "back", href: "#/", "aria-label": "All sessions" }, "←"), h("h1", {}, one.session), h("span", { class: "muted", title: one.workspace }, `${one.client === "-" ? "no client" : one.client} · ${tail(one.workspace, 3)}`),
        h("span", { class: "chips" }, chip(one.state, toneOfState(one.state), one.how || ""), truth(data.walk), replayed(data.replay), one.guard ? chip(one.guard, "", "whether decisions bind") : null)),
      damage,
      h("div", { class: "cards" },
        card("Health", one.health === undefined ? "–" : ratio(one.health), soft ? `soft ${ratio(soft)} · hard ${ratio(hard)}` : "", one.health === undefined ? null : bar(one.health / 1e6, toneOfHealth(one.health, soft, hard), `health ${ratio(one.health)}`)),
        card("Spent", money(one.spent_micro_usd), one.budget_micro_usd ? `of ${money(one.budget_micro_usd)}` : "no budget set", one.budget_micro_usd ? bar(share, share >= 1 ? "bad" : share >= 0.800 ? "warn" : "accent", "share of the budget") : null),
        card("Context", `${one.context || 0}%`, "of the model's window", bar((one.context || 0) / 100, one.context >= 85 ? "bad" : one.context >= 75 ? "warn" : "accent", "share of the context")),
        card("Tests", tests, "what is proved about the work", h("span", { class: `dot ${tone}` })),
        card("Calls", count(totals.calls), `${count(totals.failed)} failed · ${counted(totals.refused, "request")} not let through`),
        card("Time", span(data.end || 0), `last activity ${ago(one.last_activity_ms)} ago`)),
    ];
  }

  findings(data) {
    const list = data.causes.map((cause) => h("li", { class: `finding ${toneOfLevel[cause.level]}` }, h("a", { href: this.link(cause.last) }, h("span", { class: "row1" }, chip(cause.level, toneOfLevel[cause.level]), h("b", {}, cause.rule), cause.count > 1 ? h("span", { class: "times" }, `×${count(cause.count)}`) : null, cause.micro_usd ? h("span", { class: "muted" }, money(cause.micro_usd)) : null), h("span", { class: "reason" }, cause.reason))));
    return panel("Findings", `by cause`, list.length ? h("ul", { class: "findings" }, list) : h("p", { class: "muted pad" }, "Nothing was noticed."));
  }

  graph(data) {
    if (!data.graph.nodes.length) return null;
    return panel("Loops", data.graph.cycles.length ? counted(data.graph.cycles.length, "cycle") : "none", loopGraph(data.graph, this.open));
  }

  files(data) {
    const files = Object.entries(data.totals.files).sort((a, b) => b[1].i - a[1].i);
    if (!files.length) return null;
    return panel("Files changed", count(files.length), h("ul", { class: "plain" }, files.slice(0, 12).map(([path, file]) => h("li", {}, h("a", { href: this.link(file.i), title: path }, tail(path, 3)), file.test ? chip("test", "info") : null, h("span", { class: "muted" }, file.times > 1 ? `×${file.times}` : "")))));
  }

  // The steps that can be taken back: read apart from the session, and at most once a second.
  async undoPoints() {
    if (Date.now() - (this.undoAt || 0) < 1000) return;
    this.undoAt = Date.now();
    const { points } = await get("undo", this.where);
    const entry = (point) => h("li", { class: "undo" }, h("a", { href: this.link(point.i), title: point.call }, point.call), h("span", { class: "muted", title: point.changed }, point.state), point.command ? h("span", { class: "row1" }, code(point.command), copy(point.command)) : null);
    replace(this.parts.undo, points.length ? panel("Undo points", counted(points.length, "step"), h("ul", { class: "plain" }, points.reverse().slice(0, 8).map(entry))) : null);
  }

  people(data) {
    const told = [...data.totals.people, ...data.totals.switches].sort((a, b) => b.i - a.i);
    if (!told.length) return null;
    return panel("People and models", count(told.length), h("ul", { class: "plain" }, told.slice(0, 8).map((one) => h("li", {}, h("a", { href: this.link(one.i) }, one.what), h("span", { class: "muted" }, stamp(data.start_ms + one.at))))));
  }

  changed() {
    clearTimeout(this.soon);
    // Records at once, figures a moment later: many records may come together.
    get("rows", { ...this.where, from: Math.max(0, this.log.total - 1), limit: 1 }).then((answer) => this.log.grow(answer.total)).catch(() => {});
    this.soon = setTimeout(() => this.load().catch(() => {}), 150);
  }

  move(by) {
    this.log.view.focus();
    this.log.key(new KeyboardEvent("keydown", { key: by > 0 ? "j" : "k" }));
  }
}
