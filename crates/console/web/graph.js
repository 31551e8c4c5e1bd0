// Which call followed which. A cycle is drawn as a ring, in the order in which its calls follow each other.

import { h, s, replace } from "./dom.js";
import { count } from "./format.js";

const short = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

function arc(from, to, bend) {
  const [mx, my] = [(from.x + to.x) / 2, (from.y + to.y) / 2];
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  return `M${from.x.toFixed(1)} ${from.y.toFixed(1)}Q${(mx - dy * bend).toFixed(1)} ${(my + dx * bend).toFixed(1)} ${to.x.toFixed(1)} ${to.y.toFixed(1)}`;
}

// The end of an edge at the rim of a call's circle.
function trimmed(from, to, by) {
  const length = Math.hypot(to.x - from.x, to.y - from.y) || 1;
  return { x: to.x - ((to.x - from.x) / length) * by, y: to.y - ((to.y - from.y) / length) * by };
}

function place(graph, width) {
  const places = new Map();
  const cycles = graph.cycles.slice().sort((a, b) => b.length - a.length).slice(0, 4);
  let top = 0;
  for (const cycle of cycles) {
    const radius = cycle.length === 1 ? 0 : Math.min(width / 2 - 70, 34 + cycle.length * 12);
    const middle = top + radius + 44;
    cycle.forEach((node, at) => {
      const turn = (at / cycle.length) * 2 * Math.PI - Math.PI / 2;
      places.set(node, { x: width / 2 + radius * Math.cos(turn), y: middle + radius * Math.sin(turn), ring: true, right: Math.cos(turn) >= -0.01 });
    });
    top = middle + radius + 34;
  }
  const loose = graph.nodes.map((_, at) => at).filter((at) => !places.has(at)).slice(0, cycles.length ? 4 : 8);
  loose.forEach((node, at) => places.set(node, { x: 22, y: top + 22 + at * 30, ring: false, right: true }));
  return { places, height: top + loose.length * 30 + (loose.length ? 18 : 0) };
}

export function loopGraph(graph, open) {
  const box = h("div", { class: "graph" });
  const draw = () => {
    const width = Math.max(240, box.clientWidth);
    const { places, height } = place(graph, width);
    const names = graph.cycles.map((cycle) => cycle.map((at) => graph.nodes[at].call).join(" → "));
    const label = names.length ? `${names.length === 1 ? "A cycle" : `${names.length} cycles`}: ${names.join("; ")}` : "No cycle";
    const svg = s("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label });
    svg.append(s("defs", {}, s("marker", { id: "tip", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" }, s("path", { class: "arrow", d: "M0 0 8 4 0 8Z" }))));
    const inCycle = (from, to) => graph.cycles.some((cycle) => {
      const at = cycle.indexOf(from);
      return at >= 0 && cycle[(at + 1) % cycle.length] === to;
    });
    for (const [from, to, times] of graph.edges) {
      const [start, end] = [places.get(from), places.get(to)];
      if (!start || !end || (times < 2 && !inCycle(from, to)) || (!start.ring && !end.ring && from !== to)) continue;
      const strong = inCycle(from, to);
      const wide = Math.min(4, 1 + Math.log2(times) / 2).toFixed(1);
      const line = from === to
        ? `M${start.x - 7} ${start.y - 9}C${start.x - 30} ${start.y - 44} ${start.x + 30} ${start.y - 44} ${start.x + 7} ${start.y - 10}`
        : arc(trimmed(end, start, 13), trimmed(start, end, 14), strong ? -0.180 : 0.250);
      svg.append(s("path", { class: strong ? "edge strong" : "edge", d: line, "stroke-width": strong ? wide : 1, "marker-end": "url(#tip)" }, s("title", {}, `${times} times`)));
      if (strong) {
        const at = from === to ? { x: start.x, y: start.y - 38 } : { x: (start.x + end.x) / 2, y: (start.y + end.y) / 2 };
        svg.append(s("text", { class: "times", x: at.x, y: at.y, "text-anchor": "middle" }, `×${count(times)}`));
      }
    }
    for (const [at, where] of places) {
      const node = graph.nodes[at];
      const side = where.right ? 1 : -1;
      const room = where.ring ? (where.right ? width - where.x - 20 : where.x - 20) : width - 50;
      const title = `${node.call}: ${node.count} times`;
      svg.append(s("g", { class: where.ring ? "node ring" : "node" }, s("title", {}, title),
        s("circle", { cx: where.x, cy: where.y, r: where.ring ? 11 : 9 }),
        s("text", { class: "n", x: where.x, y: where.y + 3.500, "text-anchor": "middle" }, node.count > 99 ? "99+" : node.count),
        s("text", { class: "name", x: where.x + side * 17, y: where.y + 4, "text-anchor": where.right ? "start" : "end" }, short(node.call, Math.max(6, Math.floor(room / 6.600))))));
      svg.lastChild.addEventListener("click", () => open(node.i));
    }
    replace(box, svg, h("p", { class: "muted" }, label === "No cycle" ? "No call leads back to itself." : label));
  };
  new ResizeObserver(draw).observe(box);
  return box;
}
