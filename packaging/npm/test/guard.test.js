// The Node package over the real binary, which TRIPWIRE_BINARY names.
"use strict";

const assert = require("node:assert");
const fs = require("node:fs");
const { test } = require("node:test");
const { Guard, GuardFailed, Held, PROTOCOL, Refused, guard } = require("../lib/index.js");

test("distinct work is untouched, and parallel calls close in any order", async () => {
  const g = await guard({ budget: "5usd" });
  assert.ok(g instanceof Guard && PROTOCOL === 1);
  const calls = await Promise.all([1, 2, 3].map((n) => g.before("Read", { path: `${n}.js` })));
  for (const call of calls.reverse()) await call.after({ output: `text of ${call.id}` });
  assert.equal(await g.run("Bash", { command: "ls" }, () => "a"), "a");
  const status = await g.status();
  assert.equal(status.openCalls, 0);
  assert.equal(status.budgetMicroUsd, 5_000_000);
  assert.equal((await g.close()).session, g.session);
  await assert.rejects(g.before("Read", {}), GuardFailed);
});

test("a loop is held, a destructive call waits, the guard's own files are out of reach", async () => {
  const g = await guard();
  await assert.rejects(g.before("Bash", { command: "rm -rf /" }), (error) => error instanceof Held && /-/.test(error.code));
  await assert.rejects(g.before("Bash", { command: "rm -rf .geometry" }), Refused);
  await assert.rejects(
    (async () => {
      for (let n = 0; n < 40; n++) await g.run("Bash", { command: "make" }, () => "error: the same");
    })(),
    (error) => error instanceof Held && error.rule !== "" && error.evidence.length > 0,
  );
  await g.close();
  fs.rmSync(".geometry/BLOCKER_REPORT.md", { force: true });
});

test("the budget holds over sub-agents", async () => {
  const g = await guard({ budget: "0.10usd" });
  const child = await g.child("helper");
  assert.equal(child.agent, "helper");
  await assert.rejects(
    (async () => {
      for (let n = 0; n < 9; n++) await child.usage("claude-sonnet-4-5", { inputTokens: 12_000 });
    })(),
    Held,
  );
  await assert.rejects(g.before("Read", { path: "a" }), Held);
  await g.close();
});

test("mistakes are named and nothing is left waiting", async () => {
  await assert.rejects(guard({ budget: "much" }), (error) => error instanceof GuardFailed && error.code === -32602);
  await assert.rejects(guard({ program: "/no/such/program" }), GuardFailed);
  const g = await guard();
  const failing = g.run("lookup", { key: "a" }, () => {
    throw new Error("not there");
  });
  await assert.rejects(failing, /not there/);
  g.connection.child.kill("SIGKILL");
  await assert.rejects(g.before("Read", {}), GuardFailed);
});
