import type { AfterParams, AfterResult, BeforeResult, CloseResult, InitializeParams, StatusResult, UsageParams } from "./protocol";

export * from "./protocol";

export type Stop = NonNullable<BeforeResult["stop"]>;

/** A call may not run; `message` is what the model should read. */
export declare class Stopped extends Error {
  readonly kind: Stop["kind"];
  readonly reason: string;
  readonly rule: string;
  readonly evidence: number[];
  readonly retryAfterMs?: number | null;
  readonly code?: string | null;
  readonly hint: string;
}
/** This call may not run; another may, or the same later (`retryAfterMs`). */
export declare class Refused extends Stopped {}
/** Nothing goes on until a person acts, or has answered about this call (`code`). */
export declare class Held extends Stopped {}
/** The guard cannot do its work, or was used wrongly: nothing may run. */
export declare class GuardFailed extends Error {
  readonly code?: number;
  readonly data?: { hint?: string; supported?: number[] };
}

/** A call that may run, once. */
export declare class Call {
  readonly id: string;
  /** What the agent should know before it runs. */
  readonly note?: string;
  /** Reports what it gave, and closes it. */
  after(result?: Omit<AfterParams, "call">): Promise<AfterResult>;
}

/** A session, or a sub-agent's part of it. */
export declare class Guard {
  readonly session: string;
  readonly agent?: string;
  /** Asks before a call: the open call, or `Refused` or `Held` is thrown. */
  before(tool: string, args?: unknown, turn?: string): Promise<Call>;
  /** Asks, runs, reports; an exception of `run` is the call's error. */
  run<T>(tool: string, args: unknown, run: () => T | Promise<T>): Promise<T>;
  /** Counts what one answer of a model used; throws `Held` when the budget is used up. */
  usage(model: string, tokens?: Omit<UsageParams, "model" | "agent">): Promise<void>;
  /** Announces a sub-agent and gives its guard: same session, same budget. */
  child(name: string): Promise<Guard>;
  status(): Promise<StatusResult>;
  /** Closes the session; calls that are open have no result. */
  close(): Promise<CloseResult>;
}

export interface GuardOptions extends Omit<InitializeParams, "protocol"> {
  /** The binary; by default that of the platform's package, or `TRIPWIRE_BINARY`. */
  program?: string;
  /** The folder in which the binary starts. */
  cwd?: string;
}

/** Begins a guarded session. */
export declare function guard(options?: GuardOptions): Promise<Guard>;
