// The records of a session as rows, newest first. Only the rows in view are in the document; pages are loaded as they come into
// view and forgotten again, so that a million records scroll like a hundred.

import { get } from "./api.js";
import { h, chip } from "./dom.js";
import { clock, money, span, stamp, toneOfLevel } from "./format.js";

const ROW = 34;
const PAGE = 100;
const PAGES_MAX = 40;
const HEIGHT_MAX = 12000000;
const RESTS_AFTER = 250;
// A leap over more than a page is seldom the last one: what is passed over is not loaded.
const LEAP_RESTS_AFTER = 50;

const ICONS = { event: "•", request: "?", result: "↩", human: "☺", tick: "·", claim: "✓", compacted: "⇣", modelSpend: "$", iterationStarted: "▸", fault: "!", engineSwitched: "⇄", policyDrift: "≠", review: "®", advisor: "☼" };

export class Log {
  constructor(where, onOpen) {
    this.where = where;
    this.onOpen = onOpen;
    this.total = 0;
    this.pages = new Map();
    this.loading = new Set();
    this.missing = new Set();
    this.first = 0;
    this.found = null;
    this.filter = "";
    this.selected = null;
    this.body = h("div", { class: "log-body" });
    this.view = h("div", { class: "log-view", tabindex: 0, role: "grid", "aria-label": "Records, newest first", "aria-rowcount": 0 }, this.body);
    this.status = h("span", { class: "muted log-status", role: "status" });
    this.pool = [];
    this.scrolled = 0;
    this.view.addEventListener("scroll", () => {
      this.scrolled = performance.now();
      this.soon();
    }, { passive: true });
    this.view.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.soon()).observe(this.view);
  }

  get length() {
    return this.found ? this.found.rows.length + (this.found.next === null ? 0 : 1) : this.total;
  }

  // The record numbers go down as the rows go on.
  numberAt(index) {
    return this.found ? this.found.rows[index]?.i : this.total - 1 - index;
  }

  async grow(total) {
    if (total === this.total) return;
    const more = total - this.total;
    // A reader who has scrolled down keeps what is in view; one at the top sees the new rows.
    const keeps = this.view.scrollTop > ROW && !this.found;
    this.pages.delete(Math.floor(Math.max(0, this.total - 1) / PAGE));
    this.total = total;
    if (keeps && this.total * ROW <= HEIGHT_MAX) this.view.scrollTop += more * ROW;
    if (this.found) await this.search(this.filter, true);
    this.draw();
  }

  soon() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.draw();
    });
  }

  // Until nobody has scrolled for a moment.
  async resting() {
    do await new Promise((done) => setTimeout(done, Math.max(0, this.scrolled + RESTS_AFTER - performance.now())));
    while (performance.now() < this.scrolled + RESTS_AFTER);
  }

  draw() {
    const visible = Math.ceil(this.view.clientHeight / ROW) + 1;
    const height = Math.min(HEIGHT_MAX, this.length * ROW);
    if (this.height !== height) {
      this.height = height;
      this.body.style.setProperty("height", `${height}px`);
      this.view.setAttribute("aria-rowcount", this.length);
    }
    const path = Math.max(1, height - this.view.clientHeight);
    const top = this.view.scrollTop;
    // Where all rows do not fit a page's height, the place of the scroll bar says which part is shown.
    const scaled = this.length * ROW > HEIGHT_MAX;
    const exact = scaled ? (top / path) * (this.length - visible + 1) : top / ROW;
    const first = Math.max(0, Math.min(this.length - visible, Math.floor(exact)));
    const offset = scaled ? top - (exact - Math.floor(exact)) * ROW : first * ROW;
    const leaps = Math.abs(first - this.first) > PAGE;
    this.first = first;
    this.missing.clear();
    while (this.pool.length < visible + 1) {
      const row = this.makeRow();
      this.pool.push(row);
      this.body.append(row.box);
    }
    for (let at = 0; at < this.pool.length; at += 1) {
      const index = first + at;
      const row = this.pool[at];
      row.box.hidden = index >= this.length || at > visible;
      if (row.box.hidden) continue;
      row.box.style.setProperty("transform", `translateY(${offset + at * ROW}px)`);
      this.show(row, index);
    }
    clearTimeout(this.filling);
    if (this.missing.size) this.filling = setTimeout(() => this.missing.forEach((page) => this.load(page)), leaps ? LEAP_RESTS_AFTER : 0);
  }

  makeRow() {
    const part = (name) => h("span", { class: name, role: "gridcell" });
    const row = { time: part("time"), number: part("number"), icon: part("kind"), text: part("text"), marks: part("marks"), figure: part("figure"), shown: null };
    row.box = h("div", { class: "log-row", role: "row" }, row.number, row.time, row.icon, row.text, row.marks, row.figure);
    row.box.addEventListener("mouseenter", () => {
      row.time.title = stamp(row.shown?.wall);
      row.text.title = row.shown?.text || "";
    });
    row.box.addEventListener("click", () => {
      if (row.i !== undefined) this.onOpen(row.i);
    });
    return row;
  }

  show(row, index) {
    const number = this.numberAt(index);
    if (this.found && number === undefined) {
      row.i = undefined;
      this.put(row, index, { text: "looking further back …", blank: true });
      this.further();
      return;
    }
    row.i = number;
    row.box.classList.toggle("selected", number === this.selected);
    const record = this.found ? this.found.rows[index] : this.recordOf(number);
    this.put(row, index, record || { i: number, text: "", blank: true });
  }

  put(row, index, record) {
    row.box.setAttribute("aria-rowindex", index + 1);
    if (row.shown === record) return;
    row.shown = record;
    row.box.classList.toggle("blank", Boolean(record.blank));
    row.number.textContent = record.i === undefined ? "" : `#${record.i}`;
    row.time.textContent = record.wall ? clock(record.wall) : "";
    row.icon.textContent = record.kind === "claim" && (record.verdict || "allowed") !== "allowed" ? "↺" : ICONS[record.kind] || (record.blank ? "" : "•");
    row.icon.title = record.kind || "";
    row.text.textContent = record.text;
    row.box.dataset.verdict = record.verdict || "";
    row.box.dataset.kind = record.kind || "";
    const marks = [];
    if (record.agent) marks.push(chip(record.agent, "agent"));
    if (record.status === "error") marks.push(chip("error", "bad", record.error || ""));
    // What came of a person's act is in its words; it was not asked for.
    if (record.kind !== "human" && (record.verdict === "held" || record.verdict === "refused")) marks.push(chip(record.verdict, record.verdict === "held" ? "warn" : "bad", record.reason));
    for (const finding of (record.findings || []).slice(0, 2)) marks.push(chip(finding.rule, toneOfLevel[finding.level], `${finding.level}: ${finding.reason}`));
    row.marks.replaceChildren(...marks);
    const figures = [];
    if (record.ms) figures.push(span(record.ms));
    if (record.micro_usd) figures.push(money(record.micro_usd));
    row.figure.textContent = figures.join(" · ");
  }

  recordOf(number) {
    const page = Math.floor(number / PAGE);
    const kept = this.pages.get(page);
    if (kept) {
      this.pages.delete(page);
      this.pages.set(page, kept);
      const record = kept[number - page * PAGE];
      if (record) return record;
    }
    this.missing.add(page);
    return undefined;
  }

  async load(page) {
    if (this.loading.has(page)) return;
    this.loading.add(page);
    try {
      const answer = await get("rows", { ...this.where, from: page * PAGE, limit: PAGE });
      this.pages.set(page, answer.rows);
      while (this.pages.size > PAGES_MAX) this.pages.delete(this.pages.keys().next().value);
      if (answer.total > this.total) this.grow(answer.total);
    } catch (error) {
      this.status.textContent = error.message;
      this.pages.set(page, []);
      setTimeout(() => this.pages.delete(page), 1000);
    }
    this.loading.delete(page);
    this.soon();
  }

  async search(filter, keep) {
    this.filter = filter;
    const mine = (this.asked = {});
    if (!filter.trim()) {
      this.found = null;
      this.status.textContent = "";
      this.view.scrollTop = 0;
      this.draw();
      return;
    }
    try {
      const answer = await get("rows", { ...this.where, filter, limit: 200 });
      if (this.asked !== mine) return;
      this.found = answer;
      if (!keep) this.view.scrollTop = 0;
      this.tellFound();
    } catch (error) {
      if (this.asked !== mine) return;
      this.status.textContent = error.message;
      this.status.classList.add("wrong");
      return;
    }
    this.status.classList.remove("wrong");
    this.draw();
  }

  tellFound() {
    const { rows, next } = this.found;
    this.status.textContent = next === null ? `${rows.length} found` : `${rows.length} found so far`;
  }

  async further() {
    if (!this.found || this.found.next === null || this.found.busy) return;
    const found = this.found;
    found.busy = true;
    const answer = await get("rows", { ...this.where, filter: this.filter, before: found.next, limit: 200 }).catch(() => null);
    found.busy = false;
    if (this.found !== found || !answer) return;
    found.rows.push(...answer.rows);
    found.next = answer.next;
    this.tellFound();
    this.soon();
  }

  select(number) {
    this.selected = number;
    this.draw();
  }

  reveal(number) {
    if (this.found) return;
    const index = this.total - 1 - number;
    const scaled = this.length * ROW > HEIGHT_MAX;
    const top = scaled ? (index / this.length) * this.height : index * ROW;
    if (top < this.view.scrollTop || top > this.view.scrollTop + this.view.clientHeight - ROW) this.view.scrollTop = Math.max(0, top - this.view.clientHeight / 3);
    this.draw();
  }

  key(event) {
    const move = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1, PageDown: 12, PageUp: -12 }[event.key];
    if (move) {
      event.preventDefault();
      const now = this.selected === null ? -1 : this.found ? this.found.rows.findIndex((row) => row.i === this.selected) : this.total - 1 - this.selected;
      const next = Math.max(0, Math.min(this.length - 1, now + move));
      const number = this.numberAt(next);
      if (number === undefined) return;
      this.selected = number;
      const top = next * ROW;
      if (top < this.view.scrollTop) this.view.scrollTop = top;
      else if (top + ROW > this.view.scrollTop + this.view.clientHeight) this.view.scrollTop = top + ROW - this.view.clientHeight;
      this.draw();
    } else if (event.key === "Enter" && this.selected !== null) {
      event.preventDefault();
      this.onOpen(this.selected);
    }
  }
}
