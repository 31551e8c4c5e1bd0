// The way to the server. The link's secret stays in this tab and goes out as a header of acts only; reading needs the cookie.

const LINK = /^#(tw-[0-9a-f]{48})(\/.*)?$/;
const KEPT = "tripwire-secret";

function secret() {
  const found = LINK.exec(location.hash);
  if (found) {
    sessionStorage.setItem(KEPT, found[1]);
    history.replaceState(null, "", `${location.pathname}#${found[2] || "/"}`);
  }
  return sessionStorage.getItem(KEPT);
}

let kept = null;

export const canAct = () => kept !== null;

export async function login() {
  kept = secret();
  if (kept === null) return;
  const reply = await fetch("/api/login", { method: "POST", headers: { "x-tripwire-secret": kept } });
  if (!reply.ok) {
    sessionStorage.removeItem(KEPT);
    kept = null;
  }
}

async function said(reply) {
  const text = await reply.text();
  let value;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Error(`the server answered ${reply.status}`);
  }
  if (!reply.ok) {
    const error = new Error(value.error || `the server answered ${reply.status}`);
    error.status = reply.status;
    throw error;
  }
  return value;
}

export async function get(path, query, signal) {
  const wanted = new URLSearchParams();
  for (const [name, value] of Object.entries(query || {})) if (value !== undefined && value !== null) wanted.set(name, value);
  const asked = wanted.toString();
  return said(await fetch(`/api/${path}${asked ? `?${asked}` : ""}`, { signal }));
}

export async function act(name, body) {
  const headers = { "content-type": "application/json", "x-tripwire-secret": kept || "" };
  return said(await fetch(`/api/act/${name}`, { method: "POST", headers, body: JSON.stringify(body) }));
}

// Tells `heard` what changed, and `state` whether the stream stands.
export function follow(heard, state) {
  let source;
  const open = () => {
    source = new EventSource("/api/events");
    source.onopen = () => state(true);
    source.onmessage = (event) => heard(JSON.parse(event.data));
    source.onerror = () => {
      state(false);
      if (source.readyState === EventSource.CLOSED) setTimeout(open, 2000);
    };
  };
  open();
  addEventListener("pagehide", () => source.close());
}
