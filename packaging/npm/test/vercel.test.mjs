// The example for the Vercel AI SDK, with the real package and its own mock model. TRIPWIRE_AI_SDK names the folder in which
// `npm install ai zod` was run, TRIPWIRE_BINARY the binary.

import assert from "node:assert";
import fs from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";
import { guardMiddleware, guardTools } from "../examples/vercel-ai.mjs";

const { guard } = createRequire(import.meta.url)("../lib/index.js");
const installed = createRequire(`${process.env.TRIPWIRE_AI_SDK}/`);
const { generateText, stepCountIs, streamText, tool, wrapLanguageModel } = installed("ai");
const { MockLanguageModelV3, convertArrayToReadableStream } = installed("ai/test");
const { z } = installed("zod");

const usage = {
  inputTokens: { total: 5_000, noCache: 5_000, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 20, text: 20, reasoning: 0 },
};

/** A model that follows a script: a command for the tool, or a text. */
function scripted(script) {
  let asked = 0;
  const parts = () => {
    const step = script(asked++);
    return step.command
      ? { content: { type: "tool-call", toolCallId: `c${asked}`, toolName: "bash", input: JSON.stringify(step) }, reason: "tool-calls" }
      : { content: { type: "text", text: step.text }, reason: "stop" };
  };
  const model = new MockLanguageModelV3({
    modelId: "gpt-4.1",
    doGenerate: async () => {
      const { content, reason } = parts();
      return { content: [content], finishReason: { unified: reason, raw: undefined }, usage, warnings: [] };
    },
    doStream: async () => {
      const { content, reason } = parts();
      const shown = content.type === "text"
        ? [{ type: "text-start", id: "t" }, { type: "text-delta", id: "t", delta: content.text }, { type: "text-end", id: "t" }]
        : [content];
      const finish = { type: "finish", finishReason: { unified: reason, raw: undefined }, usage };
      return { stream: convertArrayToReadableStream([{ type: "stream-start", warnings: [] }, ...shown, finish]) };
    },
  });
  return { model, requests: () => asked };
}

async function run(g, script, work) {
  const ran = [];
  const bash = tool({
    description: "Run a command.",
    inputSchema: z.object({ command: z.string() }),
    execute: async ({ command }) => {
      ran.push(command);
      return work(command);
    },
  });
  const { model, requests } = scripted(script);
  let stop = null;
  try {
    await generateText({
      model: wrapLanguageModel({ model, middleware: guardMiddleware(g) }),
      tools: guardTools({ bash }, g),
      stopWhen: stepCountIs(60),
      prompt: "work",
      maxRetries: 0,
    });
  } catch (error) {
    stop = error;
  }
  return { stop, ran, requests: requests() };
}

const fails = (command) => `error: ${command} failed the same way`;

test("an identical loop is held, and no request follows", async () => {
  const g = await guard();
  const { stop, ran, requests } = await run(g, () => ({ command: "make" }), fails);
  assert.equal(stop?.kind, "held", String(stop));
  assert.ok(ran.length < 12 && requests <= ran.length + 2, `${ran.length} ${requests}`);
  await g.close();
  fs.rmSync(".geometry/BLOCKER_REPORT.md", { force: true });
});

test("two calls in turn are held", async () => {
  const g = await guard();
  const { stop, ran } = await run(g, (n) => ({ command: ["make", "cat Makefile"][n % 2] }), fails);
  assert.equal(stop?.kind, "held", String(stop));
  assert.ok(ran.length < 30, String(ran.length));
  await g.close();
  fs.rmSync(".geometry/BLOCKER_REPORT.md", { force: true });
});

test("distinct work is untouched", async () => {
  const g = await guard();
  const script = (n) => (n < 15 ? { command: `grep -n name${n} src/f${n}.js` } : { text: "done" });
  const { stop, ran } = await run(g, script, (command) => `3: found by ${command}`);
  assert.equal(stop, null, String(stop));
  assert.equal(ran.length, 15);
  await g.close();
});

test("the budget holds over a sub-agent", async () => {
  const g = await guard({ budget: "0.10usd" });
  const child = await g.child("helper");
  const script = (n) => ({ command: `grep -n name${n} src/f${n}.js` });
  const { stop } = await run(child, script, (command) => `3: found by ${command}`);
  assert.equal(stop?.kind, "held", String(stop));
  const { spentMicroUsd } = await g.status();
  assert.ok(spentMicroUsd >= 100_000 && spentMicroUsd < 140_000, String(spentMicroUsd));
  const { stop: above } = await run(g, () => ({ command: "ls" }), () => "a");
  assert.equal(above?.kind, "held", String(above));
  await g.close();
});

test("a STOP file holds the run", async () => {
  const g = await guard();
  const work = (command) => {
    if (command.endsWith("2")) fs.writeFileSync(".geometry/STOP", "");
    return `text of ${command}`;
  };
  const { stop, ran } = await run(g, (n) => ({ command: `cat file${n}` }), work);
  assert.equal(stop?.kind, "held", String(stop));
  assert.ok(ran.length <= 4, String(ran));
  await g.close();
  fs.rmSync(".geometry/STOP");
});

test("a refused call is told to the model and a tool that cannot be guarded is an error", async () => {
  const g = await guard();
  const script = (n) => (n === 0 ? { command: "rm -rf .geometry" } : { text: "done" });
  const { stop, ran } = await run(g, script, () => "gone");
  assert.equal(stop, null, String(stop));
  assert.deepEqual(ran, []);
  assert.throws(() => guardTools({ search: {} }, g), /search/);
  await g.close();
});

test("a streamed answer is counted", async () => {
  const g = await guard({ budget: "5usd" });
  const { model } = scripted(() => ({ text: "done" }));
  const answer = streamText({ model: wrapLanguageModel({ model, middleware: guardMiddleware(g) }), prompt: "work" });
  assert.equal(await answer.text, "done");
  assert.ok((await g.status()).spentMicroUsd > 0);
  await g.close();
});
