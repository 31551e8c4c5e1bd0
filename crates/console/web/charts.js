// Curves and lanes over the time of a session, drawn to the width they have.

import { h, s, replace } from "./dom.js";
import { clock, money, ratio, span } from "./format.js";

const LEFT = 44;
const RIGHT = 12;

function scale(from, to, low, high) {
  const width = Math.max(1, to - from);
  return (value) => low + ((value - from) / width) * (high - low);
}

function path(points, x, y) {
  let text = "";
  let last;
  for (const point of points) {
    const at = x(point[1]).toFixed(1);
    const level = y(point).toFixed(1);
    text += last === undefined ? `M${at} ${level}` : `H${at}V${level}`;
    last = level;
  }
  return text;
}

// One curve with its thresholds. `marks` are clickable moments.
function curve(width, options, data) {
  const { height, title, low, high, value, lines, format, tone, marks } = options;
  const x = scale(data.from, data.to, LEFT, width - RIGHT);
  const y = scale(low, high, height - 4, 22);
  const svg = s("svg", { class: `curve ${tone}`, viewBox: `0 0 ${width} ${height}`, width, height, role: marks ? "group" : "img", "aria-label": options.label });
  for (const level of [low, high]) svg.append(s("text", { class: "axis", x: LEFT - 8, y: y(level) + 4, "text-anchor": "end" }, format(level)));
  svg.append(s("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: y(low), y2: y(low) }));
  for (const line of lines) {
    if (line.at < low || line.at > high) continue;
    svg.append(s("line", { class: `limit ${line.tone}`, x1: LEFT, x2: width - RIGHT, y1: y(line.at), y2: y(line.at) }));
    svg.append(s("text", { class: `limit-name ${line.tone}`, x: width - RIGHT - 4, y: y(line.at) - 4, "text-anchor": "end" }, line.name));
  }
  const points = data.points;
  if (points.length) {
    const drawn = path(points, x, (point) => y(value(point)));
    const end = x(points[points.length - 1][1]).toFixed(1);
    svg.append(s("path", { class: "area", d: `${drawn}V${y(low)}H${x(points[0][1]).toFixed(1)}Z` }), s("path", { class: "stroke", d: drawn }));
    svg.append(s("circle", { class: "now", cx: end, cy: y(value(points[points.length - 1])), r: 3 }));
  }
  svg.append(s("text", { class: "curve-title", x: LEFT, y: 12 }, title));
  for (const mark of marks || []) {
    const label = `#${mark.i}: health ${ratio(mark.from)} to ${ratio(mark.to)}. ${mark.why}`;
    const dot = s("a", { class: "mark", href: mark.href, "aria-label": label }, s("title", {}, label),
      s("circle", { class: "hit", cx: x(mark.at), cy: y(mark.to), r: 12 }), s("circle", { cx: x(mark.at), cy: y(mark.to), r: 4.500 }));
    svg.append(dot);
  }
  return { svg, x };
}

export function curves(data, go) {
  const box = h("div", { class: "curves" });
  const tip = h("div", { class: "tip", hidden: true });
  const limits = data.thresholds || { soft: 600000, hard: 300000, contextWarning: 75, contextBlock: 85 };
  const budget = data.summary.budget_micro_usd;
  const spent = Math.max(1, ...data.points.map((point) => point[3]));
  const percent = (value) => `${value}%`;
  const draw = () => {
    const width = Math.max(280, box.clientWidth);
    const range = { points: data.points, from: 0, to: Math.max(1, data.end) };
    // Only the larger losses are marked where there are many; all are in the log.
    const marks = [...data.drops].sort((a, b) => b.from - b.to - (a.from - a.to)).slice(0, 40).map((drop) => ({ ...drop, href: go(drop.i) }));
    const health = curve(width, { height: 146, title: "Health", label: `Health over time, ${data.drops.length} losses`, low: 0, high: 1e6, value: (p) => p[2], tone: "health", format: ratio, marks,
      lines: [{ at: limits.soft, name: `soft ${ratio(limits.soft)}`, tone: "warn" }, { at: limits.hard, name: `hard ${ratio(limits.hard)}`, tone: "bad" }] }, range);
    const cost = curve(width, { height: 92, title: "Money", label: `Money over time, ${money(spent)} in all`, low: 0, high: budget ? Math.max(budget * 1.050, spent) : Math.max(10000, spent * 1.150), value: (p) => p[3], tone: "money", format: money,
      lines: budget ? [{ at: budget, name: `budget ${money(budget)}`, tone: "bad" }] : [] }, range);
    const context = curve(width, { height: 92, title: "Context", label: "Context over time, in per cent", low: 0, high: 100, value: (p) => Math.min(100, p[4]), tone: "context", format: percent,
      lines: [{ at: limits.contextBlock, name: `block ${limits.contextBlock}%`, tone: "bad" }] }, range);
    replace(box, health.svg, cost.svg, context.svg, times(width, data), tip);
    box.onpointermove = (event) => hover(event, box, tip, data, health.x);
    box.onpointerleave = () => { tip.hidden = true; };
  };
  new ResizeObserver(draw).observe(box);
  return box;
}

function hover(event, box, tip, data, x) {
  const at = event.clientX - box.getBoundingClientRect().left;
  let best;
  for (const point of data.points) if (!best || Math.abs(x(point[1]) - at) < Math.abs(x(best[1]) - at)) best = point;
  if (!best || at < LEFT) { tip.hidden = true; return; }
  replace(tip, h("b", {}, `#${best[0]}`), ` ${clock(data.start_ms + best[1])}`, h("br"), `health ${ratio(best[2])} · ${money(best[3])} · context ${best[4]}%`);
  tip.hidden = false;
  const left = Math.min(Math.max(0, x(best[1]) + 10), box.clientWidth - tip.offsetWidth - 4);
  tip.style.setProperty("transform", `translate(${left}px, 4px)`);
}

// The times under curves and lanes.
function times(width, data) {
  const svg = s("svg", { class: "times", viewBox: `0 0 ${width} 18`, width, height: 18, "aria-hidden": "true" });
  const x = scale(0, Math.max(1, data.end), LEFT, width - RIGHT);
  const steps = Math.max(2, Math.floor(width / 160));
  for (let step = 0; step <= steps; step += 1) {
    const at = (data.end * step) / steps;
    const anchor = step === 0 ? "start" : step === steps ? "end" : "middle";
    svg.append(s("text", { x: x(at), y: 13, "text-anchor": anchor }, data.start_ms && data.end > 5000 ? clock(data.start_ms + at) : span(at)));
  }
  return svg;
}

const KINDS = { model: "model", tool: "tool", failed: "failed tool", held: "held", wait: "waits for a person" };

// What each agent did when. Spans that are narrower than a pixel are drawn as one.
export function lanes(data, open) {
  const box = h("div", { class: "lanes" });
  const tip = h("div", { class: "tip", hidden: true });
  const legend = h("p", { class: "legend" }, Object.entries(KINDS).map(([kind, name]) => h("span", { class: `key ${kind}` }, h("i"), name)));
  const draw = () => {
    const width = Math.max(280, box.clientWidth);
    const labels = Math.min(140, Math.max(64, width * 0.180));
    const x = scale(0, Math.max(1, data.end), labels, width - RIGHT);
    const rows = data.lanes.map((lane) => row(lane, width, labels, x));
    replace(box, rows, tip);
  };
  const row = (lane, width, labels, x) => {
    const name = lane.agent || "main agent";
    const spans = lane.spans.slice();
    if (!lane.agent && data.waitingSince !== null && data.waitingSince !== undefined) spans.push({ kind: "wait", from: data.waitingSince, to: data.end, i: data.inputs - 1, label: "waits for a person" });
    const svg = s("svg", { class: "lane", viewBox: `0 0 ${width} 30`, width, height: 30, role: "img", "aria-label": `${name}: ${spans.length} spans` });
    svg.append(s("text", { class: "lane-name", x: 0, y: 19 }, name.length > 18 ? `${name.slice(0, 17)}…` : name), s("rect", { class: "lane-base", x: labels, y: 8, width: width - RIGHT - labels, height: 14, rx: 3 }));
    let last = -10;
    for (const one of spans) {
      const from = x(one.from);
      const wide = Math.max(one.kind === "held" ? 3 : 1.500, x(one.to) - from);
      if (from + wide - last < 1 && one.kind !== "held") continue;
      last = from + wide;
      const tall = one.kind === "held" ? 22 : one.kind === "wait" ? 14 : 12;
      const mark = s("rect", { class: `span ${one.kind}`, x: from.toFixed(1), y: 15 - tall / 2, width: wide.toFixed(1), height: tall, rx: 2 });
      mark.span = one;
      svg.append(mark);
    }
    svg.addEventListener("click", (event) => { if (event.target.span) open(event.target.span.i); });
    svg.addEventListener("pointermove", (event) => {
      const one = event.target.span;
      tip.hidden = !one;
      if (!one) return;
      replace(tip, h("b", {}, KINDS[one.kind]), ` #${one.i} · ${span(one.to - one.from)}`, h("br"), one.label);
      const left = Math.min(event.clientX - box.getBoundingClientRect().left + 12, box.clientWidth - tip.offsetWidth - 4);
      tip.style.setProperty("transform", `translate(${Math.max(0, left)}px, ${event.clientY - box.getBoundingClientRect().top + 14}px)`);
    });
    svg.addEventListener("pointerleave", () => { tip.hidden = true; });
    return svg;
  };
  new ResizeObserver(draw).observe(box);
  return [box, legend];
}
