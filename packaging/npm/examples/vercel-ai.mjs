// The Vercel AI SDK under the guard: its tools ask before they run, and a middleware of the model counts what each answer used.
//
//   import { generateText, stepCountIs, wrapLanguageModel } from "ai";
//   const g = await guard({ budget: "5usd" });
//   await generateText({
//     model: wrapLanguageModel({ model, middleware: guardMiddleware(g) }),
//     tools: guardTools(tools, g),
//     stopWhen: stepCountIs(100),
//     prompt,
//   });
//
// The SDK hands an exception of a tool to the model and goes on. So what ends a run is kept here and thrown by the middleware before
// the next request: use both.

const ended = new WeakMap();

/** Every tool with an `execute`, guarded. A tool without one runs at the provider or in a browser, where no guard is asked. */
export function guardTools(tools, guard) {
  const unguarded = Object.entries(tools).filter(([, tool]) => typeof tool.execute !== "function");
  if (unguarded.length > 0) {
    throw new TypeError(`these tools run where no guard is asked: ${unguarded.map(([name]) => name).join(", ")}`);
  }
  return Object.fromEntries(Object.entries(tools).map(([name, tool]) => [name, guarded(name, tool, guard)]));
}

function guarded(name, tool, guard) {
  return {
    ...tool,
    async execute(args, options) {
      try {
        return await guard.run(name, args, () => tool.execute(args, options));
      } catch (error) {
        // Only this call may not run: the model reads why.
        if (error?.kind === "refused") return error.message;
        if (isEnd(error)) ended.set(guard, error);
        throw error;
      }
    },
  };
}

/** For `wrapLanguageModel`: no request after the end, and the tokens of each answer counted. */
export function guardMiddleware(guard) {
  const check = () => {
    if (ended.has(guard)) throw ended.get(guard);
  };
  return {
    specificationVersion: "v3",
    async wrapGenerate({ doGenerate, model }) {
      check();
      const answer = await doGenerate();
      await count(guard, model.modelId, answer.usage);
      return answer;
    },
    async wrapStream({ doStream, model }) {
      check();
      const answer = await doStream();
      const counted = new TransformStream({
        async transform(part, controller) {
          if (part.type === "finish") await count(guard, model.modelId, part.usage);
          controller.enqueue(part);
        },
      });
      return { ...answer, stream: answer.stream.pipeThrough(counted) };
    },
  };
}

async function count(guard, model, usage) {
  const { inputTokens: given = {}, outputTokens: made = {} } = usage ?? {};
  try {
    await guard.usage(model, {
      inputTokens: given.noCache ?? given.total ?? 0,
      cacheReadTokens: given.cacheRead ?? 0,
      cacheWriteTokens: given.cacheWrite ?? 0,
      outputTokens: made.text ?? Math.max(0, (made.total ?? 0) - (made.reasoning ?? 0)),
      reasoningTokens: made.reasoning ?? 0,
    });
  } catch (error) {
    if (isEnd(error)) ended.set(guard, error);
    throw error;
  }
}

/** Held, or a guard that failed: nothing goes on. */
function isEnd(error) {
  return error?.kind === "held" || error?.name === "GuardFailed";
}
