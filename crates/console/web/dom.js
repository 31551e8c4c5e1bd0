// Elements from data. Everything that agents wrote becomes text nodes: nothing here parses markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "css") for (const [key, part] of Object.entries(value)) element.style.setProperty(key, part);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  append(element, children);
  return element;
}

function append(element, children) {
  for (const child of children) {
    if (Array.isArray(child)) append(element, child);
    else if (child instanceof Node) element.appendChild(child);
    else if (child !== undefined && child !== null && child !== false) element.appendChild(document.createTextNode(String(child)));
  }
}

export function h(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function s(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

export function replace(element, ...children) {
  const fragment = document.createDocumentFragment();
  append(fragment, children);
  element.replaceChildren(fragment);
  return element;
}

export const byId = (id) => document.getElementById(id);

export function chip(text, tone, title) {
  return h("span", { class: `chip ${tone || ""}`, title }, text);
}

export function bar(share, tone, label) {
  const width = Math.max(0, Math.min(1, share));
  return h("span", { class: `bar ${tone || ""}`, role: "img", "aria-label": label }, h("i", { css: { width: `${(width * 100).toFixed(1)}%` } }));
}

export function empty(title, ...rest) {
  return h("div", { class: "empty" }, h("h2", {}, title), h("p", {}, ...rest));
}

export const code = (text) => h("code", {}, text);

// A button that puts a text on the clipboard.
export function copy(text) {
  const button = h("button", { class: "small", type: "button" }, "Copy");
  button.addEventListener("click", async () => {
    await navigator.clipboard?.writeText(text).catch(() => {});
    button.textContent = "Copied";
  });
  return button;
}
