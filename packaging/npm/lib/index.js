// A guarded session for Node: `tripwire serve --stdio` behind promises. See docs/reference/stdio.md.
"use strict";

const { spawn } = require("node:child_process");
const readline = require("node:readline");
const { binary } = require("./binary.js");

const PROTOCOL = 1;

/** A call may not run; `message` is what the model should read. */
class Stopped extends Error {
  constructor(stop) {
    super(stop.message);
    this.name = this.constructor.name;
    Object.assign(this, stop, { message: stop.message });
  }
}
/** This call may not run; another may, or the same later (`retryAfterMs`). */
class Refused extends Stopped {}
/** Nothing goes on until a person acts, or has answered about this call (`code`). */
class Held extends Stopped {}
/** The guard cannot do its work, or was used wrongly: nothing may run. */
class GuardFailed extends Error {
  constructor(message, code, data) {
    super(data?.hint ? `${message}; ${data.hint}` : message);
    this.name = "GuardFailed";
    this.code = code;
    this.data = data;
  }
}

const stopped = (stop) => (stop.kind === "held" ? new Held(stop) : new Refused(stop));

/** One process, one session; answers come in the order of the questions. */
class Connection {
  constructor(program, cwd) {
    this.waiting = new Map();
    this.next = 1;
    this.ended = null;
    this.child = spawn(program, ["serve", "--stdio"], { cwd, stdio: ["pipe", "pipe", "inherit"] });
    this.exit = new Promise((resolve) => {
      this.child.on("error", (error) => this.fail(new GuardFailed(`the binary does not start: ${error.message}`)));
      this.child.on("close", (code) => {
        this.fail(new GuardFailed("the guard has ended"));
        resolve(code);
      });
    });
    // A pipe that breaks is told by the end of the process.
    this.child.stdin.on("error", () => {});
    readline.createInterface({ input: this.child.stdout }).on("line", (line) => this.hear(line));
  }

  hear(line) {
    const answer = JSON.parse(line);
    const waiting = this.waiting.get(answer.id);
    this.waiting.delete(answer.id);
    if (!waiting) return;
    if (answer.error) waiting.reject(new GuardFailed(answer.error.message, answer.error.code, answer.error.data));
    else waiting.resolve(answer.result);
  }

  fail(error) {
    this.ended ??= error;
    for (const { reject } of this.waiting.values()) reject(this.ended);
    this.waiting.clear();
  }

  ask(method, params) {
    if (this.ended) return Promise.reject(this.ended);
    const id = this.next++;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      this.child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    });
  }
}

/** A call that may run, once. */
class Call {
  constructor(connection, id, note) {
    this.connection = connection;
    this.id = id;
    this.note = note;
  }

  /** Reports what it gave, and closes it. */
  after(result = {}) {
    return this.connection.ask("after", { call: this.id, ...result });
  }
}

/** A session, or a sub-agent's part of it. */
class Guard {
  constructor(connection, status, agent) {
    this.connection = connection;
    this.session = status.session;
    this.agent = agent;
  }

  /** Asks before a call: the open call, or `Refused` or `Held` is thrown. */
  async before(tool, args = {}, turn = undefined) {
    const answer = await this.connection.ask("before", { tool, args, agent: this.agent, turn });
    if (!answer.allowed) throw stopped(answer.stop);
    return new Call(this.connection, answer.call, answer.note);
  }

  /** Asks, runs, reports; an exception of `run` is the call's error. Gives the output with what the model should know. */
  async run(tool, args, run) {
    const call = await this.before(tool, args);
    let output;
    try {
      output = await run();
    } catch (error) {
      await call.after({ output: String(error), error: true });
      throw error;
    }
    const text = typeof output === "string" ? output : JSON.stringify(output) ?? "";
    const { note, stop } = await call.after({ output: text });
    if (stop) throw stopped(stop);
    return note && typeof output === "string" ? `${output}\n${note}` : output;
  }

  /** Counts what one answer of a model used; throws `Held` when the budget is used up. */
  async usage(model, tokens = {}) {
    const { stop } = await this.connection.ask("usage", { model, ...tokens, agent: this.agent });
    if (stop) throw stopped(stop);
  }

  /** Announces a sub-agent and gives its guard: same session, same budget. */
  async child(name) {
    const { agent, stop } = await this.connection.ask("child", { name, parent: this.agent });
    if (stop) throw stopped(stop);
    return new Guard(this.connection, { session: this.session }, agent);
  }

  status() {
    return this.connection.ask("status", {});
  }

  /** Closes the session; calls that are open have no result. */
  async close() {
    const status = await this.connection.ask("close", {});
    await this.connection.exit;
    return status;
  }
}

/** Begins a guarded session. */
async function guard({ program, cwd, ...options } = {}) {
  const connection = new Connection(program ?? binary(), cwd);
  try {
    const begun = await connection.ask("initialize", { protocol: PROTOCOL, ...options });
    return new Guard(connection, begun.status);
  } catch (error) {
    connection.child.stdin.end();
    throw error;
  }
}

module.exports = { Call, Guard, GuardFailed, Held, PROTOCOL, Refused, Stopped, guard };
