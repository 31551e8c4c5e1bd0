// Figures as people read them.

export function money(micro) {
  if (!micro) return "$0.00";
  // As `status` and `ls` show it: what is less than a cent exactly, all else to the cent, never rounded up.
  if (micro < 10000) return `0.${String(micro).padStart(4, "0").replace(/0+$/, "")}¢`;
  return `$${(Math.floor(micro / 10000) / 100).toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`;
}

export function count(number) {
  return (number || 0).toLocaleString("en-US");
}

export function counted(number, name) {
  return `${count(number)} ${name}${number === 1 ? "" : name.endsWith("s") ? "es" : "s"}`;
}

export function ratio(millionths) {
  return (Math.floor(millionths / 10000) / 100).toFixed(2);
}

export function ago(ms, now) {
  const seconds = Math.max(0, Math.floor(((now || Date.now()) - ms) / 1000));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86400)} d`;
}

export function span(ms) {
  const seconds = Math.floor(ms / 1000);
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ${Math.floor(seconds / 60) % 60} min`;
  return `${Math.floor(seconds / 86400)} d ${Math.floor(seconds / 3600) % 24} h`;
}

const pad = (number) => String(number).padStart(2, "0");

export function clock(ms) {
  const date = new Date(ms);
  return `${pad(date.getHours())}:${pad(date.getMinutes())}:${pad(date.getSeconds())}`;
}

export function stamp(ms) {
  return ms ? new Date(ms).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" }) : "";
}

export function tail(path, parts) {
  const all = path.split("/").filter(Boolean);
  return all.length <= parts ? path : `…/${all.slice(-parts).join("/")}`;
}

export function toneOfState(state) {
  if (/^(running|active)/.test(state)) return "good";
  if (/^(held|paused)/.test(state)) return "warn";
  if (/^(stopped|BROKEN)/.test(state)) return "bad";
  return "";
}

export function toneOfHealth(millionths, soft = 600000, hard = 300000) {
  return millionths < hard ? "bad" : millionths < soft ? "warn" : "good";
}

const VERDICTS = {
  VERIFIED: ["verified", "good"], STALE: ["stale", "warn"], FAILED: ["failed", "bad"], UNVERIFIED: ["unverified", "warn"],
  NOTHING_TO_VERIFY: ["no change", ""], WAIVED: ["waived", "warn"], UNDOCUMENTED: ["undocumented", "warn"],
};

export function verdict(name) {
  return VERDICTS[name] || [name ? name.toLowerCase() : "–", ""];
}

export const toneOfLevel = { note: "", override: "info", hold: "warn", stop: "bad" };
