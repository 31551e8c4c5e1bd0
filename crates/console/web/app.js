// The frame: which view is shown, keys, live updates, the stop button.

import { act, canAct, follow, get, login } from "./api.js";
import { byId, h, empty, code, replace } from "./dom.js";
import { SessionsView } from "./sessions.js";
import { SessionView } from "./session.js";
import { FleetView } from "./fleet.js";
import { ApprovalsView, PolicyView, decision, help, receipt } from "./panels.js";

const main = byId("main");
const drawer = byId("drawer");
const sheet = byId("sheet");
let view = null;
let shown = "";

function theme(next) {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const now = localStorage.getItem("tripwire-theme") || (dark ? "dark" : "light");
  const wanted = next ? (now === "dark" ? "light" : "dark") : now;
  if (next) localStorage.setItem("tripwire-theme", wanted);
  document.documentElement.dataset.theme = wanted;
}

function route() {
  const parts = location.hash.replace(/^#\/?/, "").split("/").filter(Boolean).map(decodeURIComponent);
  return { name: parts[0] || "sessions", parts };
}

async function show() {
  const { name, parts } = route();
  const wanted = name === "s" ? `s/${parts[1]}/${parts[2]}` : parts.join("/") || "sessions";
  if (wanted !== shown) {
    shown = wanted;
    document.title = "tripwire";
    closeDrawer(false);
    if (name === "s") view = new SessionView(parts[1], parts[2], (i) => { location.hash = `#/s/${parts[1]}/${parts[2]}/${i}`; });
    else if (name === "approvals") view = new ApprovalsView();
    else if (name === "policy") view = new PolicyView(parts[1]);
    else if (name === "fleet") view = new FleetView();
    else view = new SessionsView();
    for (const link of document.querySelectorAll(".nav a")) {
      if (link.dataset.view === (name === "s" ? "sessions" : name)) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    const mine = view;
    try {
      await Promise.all([mine.load(), Promise.resolve().then(() => replace(main, mine.element))]);
    } catch (error) {
      if (mine === view) replace(main, problem(error));
    }
    byId("keys").replaceChildren(...view.keys.map(([key, what]) => h("span", {}, h("kbd", {}, key), ` ${what}`)));
  }
  if (name === "s" && parts[3] !== undefined) await openDecision(parts);
  else closeDrawer(true);
}

function problem(error) {
  if (error.status === 401) return empty("This tab is not signed in.", "Open the link that ", code("tripwire web"), " printed: what stands behind its # is the key.");
  return empty("That did not work.", error.message);
}

async function openDecision(parts) {
  const i = Number(parts[3]);
  const close = h("button", { class: "icon close", type: "button", "aria-label": "Close" }, "×");
  close.addEventListener("click", () => back());
  try {
    const inside = await decision({ w: parts[1], s: parts[2] }, i, (number) => view.link(number));
    replace(drawer, close, inside);
  } catch (error) {
    replace(drawer, close, h("h2", { class: "drawer-title", tabindex: "-1" }, `#${parts[3]}`), h("p", {}, error.message));
  }
  drawer.hidden = false;
  drawer.scrollTop = 0;
  document.body.classList.add("with-drawer");
  drawer.querySelector(".drawer-title")?.focus();
  if (view.log) {
    view.log.select(i);
    view.log.reveal(i);
  }
}

function back() {
  const { name, parts } = route();
  if (name === "s" && parts[3] !== undefined) location.hash = `#/s/${parts[1]}/${parts[2]}`;
  else if (name !== "sessions") location.hash = "#/";
}

function closeDrawer(focus) {
  if (drawer.hidden) return;
  drawer.hidden = true;
  document.body.classList.remove("with-drawer");
  if (focus && view.log) view.log.view.focus();
}

function openSheet(...inside) {
  const close = h("button", { type: "button", class: "primary" }, "Close");
  close.addEventListener("click", () => sheet.close());
  replace(sheet, inside, h("p", { class: "right" }, close));
  if (!sheet.open) sheet.showModal();
  close.focus();
}

async function order(name) {
  openSheet(h("h2", {}, name === "stop" ? "Stopping …" : "Pausing …"), h("p", { class: "muted" }, "Waiting for the receipt."));
  try {
    openSheet(receipt(await act(name, { reason: "the console's stop button" })));
  } catch (error) {
    openSheet(h("h2", {}, "That did not work"), h("p", {}, error.message), h("p", {}, "In a terminal: ", code(`tripwire ${name}`)));
  }
  view?.load().catch(() => {});
}

// Press = pause everything at once; hold for a second = stop. The same with the keyboard.
function stopButton() {
  const button = byId("stop");
  const HOLD = 1000;
  let timer;
  const begin = () => {
    if (timer || button.disabled) return;
    button.classList.add("holding");
    timer = setTimeout(() => {
      end();
      order("stop");
    }, HOLD);
  };
  const end = () => {
    clearTimeout(timer);
    timer = undefined;
    button.classList.remove("holding");
  };
  const press = () => {
    if (!timer) return;
    end();
    order("pause");
  };
  button.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    button.setPointerCapture?.(event.pointerId);
    begin();
  });
  button.addEventListener("pointerup", press);
  button.addEventListener("pointercancel", end);
  button.addEventListener("contextmenu", (event) => event.preventDefault());
  button.addEventListener("keydown", (event) => {
    if ((event.key === " " || event.key === "Enter") && !event.repeat) begin();
    if (event.key === " " || event.key === "Enter") event.preventDefault();
  });
  button.addEventListener("keyup", (event) => {
    if (event.key === " " || event.key === "Enter") press();
  });
  button.addEventListener("blur", end);
  if (!canAct()) {
    button.disabled = true;
    button.title = "This tab may only read: open the link that tripwire web printed to act.";
  }
}

function keys(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
  if (event.key === "Escape") {
    if (sheet.open) return;
    if (typing && event.target.value) {
      event.target.value = "";
      event.target.dispatchEvent(new Event("input"));
    } else if (typing) event.target.blur();
    else back();
    event.preventDefault();
    return;
  }
  if (typing || sheet.open) return;
  const go = { s: "#/", a: "#/approvals", p: "#/policy", f: "#/fleet" }[event.key];
  if (go) location.hash = go;
  else if (event.key === "/") byId("filter")?.focus();
  else if (event.key === "t") theme(true);
  else if (event.key === "?") openSheet(help());
  else if ((event.key === "j" || event.key === "ArrowDown") && event.target.closest?.(".log-view") === null) view?.move?.(1);
  else if ((event.key === "k" || event.key === "ArrowUp") && event.target.closest?.(".log-view") === null) view?.move?.(-1);
  else return;
  event.preventDefault();
}

async function waiting() {
  const { waiting: all } = await get("approvals").catch(() => ({ waiting: [] }));
  const badge = byId("waiting");
  badge.hidden = all.length === 0;
  badge.textContent = String(all.length);
}

function live() {
  const mark = byId("live");
  const tell = (text, tone) => {
    mark.className = `live ${tone}`;
    mark.lastElementChild.textContent = text;
  };
  let later;
  follow((change) => {
    const mine = change.all || !(view instanceof SessionView) || (change.w === view.key && (!change.s || change.s === view.id));
    if (mine) view?.changed();
    clearTimeout(later);
    later = setTimeout(waiting, 500);
  }, (stands) => {
    tell(stands ? "live" : "not connected", stands ? "good" : "bad");
    if (stands) view?.changed();
  });
}

theme(false);
await login();
stopButton();
byId("theme").addEventListener("click", () => theme(true));
addEventListener("hashchange", show);
addEventListener("keydown", keys);
await show();
live();
waiting();
document.documentElement.dataset.ready = "true";
