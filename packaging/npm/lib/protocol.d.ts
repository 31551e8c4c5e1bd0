// Made by `cargo xtask reference` from docs/reference/stdio.schema.json; do not edit.

export declare const PROTOCOL: 1;

/** Begins the session. */
export interface InitializeParams {
  /** The version of the protocol that the program speaks. */
  protocol: number;
  /** A folder of the workspace; by default the current one. */
  workspace?: string | null;
  /** A session to take up; by default a new one begins. */
  session?: string | null;
  /** The money budget, such as `5usd`. */
  budget?: string | null;
  /** The profile: `strict` or `balanced`. */
  profile?: string | null;
  /** The role to act in. */
  role?: string | null;
  /** Other settings of the policy, by their dotted path, as `tripwire policy show` lists them. */
  settings?: { [key: string]: string };
}

/** The session has begun. */
export interface InitializeResult {
  /** The version of the protocol that is spoken. */
  protocol: number;
  /** The version of tripwire. */
  tripwire: string;
  /** How the session stands. */
  status: {
    /** The session's id, for `tripwire log --session ID`. */
    session: string;
    /** The workspace's folder. */
    workspace: string;
    /** Why it is held or ended, in words; absent while it may go on. */
    held?: string | null;
    /** Spent so far, in millionths of a dollar. */
    spentMicroUsd: number;
    /** The budget, in millionths of a dollar; absent where there is none. */
    budgetMicroUsd?: number | null;
    /** Tokens used so far. */
    tokens: number;
    /** Steps so far. */
    steps: number;
    /** Health in thousandths. */
    healthPerMille: number;
    /** Calls without a result. */
    openCalls: number;
    /** Sub-agents that were announced. */
    agents: number;
  };
}

/** Asks before a call. */
export interface BeforeParams {
  /** The tool's name. */
  tool: string;
  /** Its arguments: an object, or whatever the tool takes. */
  args?: unknown;
  /** The sub-agent that acts, as `child` named it. */
  agent?: string | null;
  /** The model's answer that asked for it: calls of one answer share it and are one step. */
  turn?: string | null;
}

/** The answer to a question. */
export interface BeforeResult {
  /** Whether the call may run. */
  allowed: boolean;
  /** The id of the call, under which its result is reported; only where it may run. */
  call?: string | null;
  /** What the agent should know. */
  note?: string | null;
  /** Why it may not run; only where it may not. */
  stop?: {
    /** Whether it is refused, or waits for a person. */
    kind: "refused" | "held";
    /** Why, in one sentence. */
    reason: string;
    /** The rule that decided; `tripwire explain RULE` says more. */
    rule: string;
    /** The indices of the inputs that prove it, for `tripwire why`. */
    evidence: Array<number>;
    /** How long to wait before asking again, where waiting helps. */
    retryAfterMs?: number | null;
    /** The code with which a person allows a held call: `tripwire allow --once CODE`. */
    code?: string | null;
    /** The whole refusal as the model should read it. */
    message: string;
    /** What a person can do about it. */
    hint: string;
  } | null;
}

/** Reports what a call gave, and closes it. */
export interface AfterParams {
  /** The id that `before` gave. */
  call: string;
  /** The output as text. */
  output?: string;
  /** Whether it failed. */
  error?: boolean | null;
  /** The exit code of a command. */
  exitCode?: number | null;
  /** How long it took; by default the time since `before`. */
  durationMs?: number | null;
  /** The call was given up and has no result: the other fields are not read. */
  noResult?: boolean;
}

/** The answer to a result, to figures, or to an announcement: the work is done, and this follows from it. */
export interface AfterResult {
  /** What the agent should know. */
  note?: string | null;
  /** Why nothing may follow, where that is so. */
  stop?: {
    /** Whether it is refused, or waits for a person. */
    kind: "refused" | "held";
    /** Why, in one sentence. */
    reason: string;
    /** The rule that decided; `tripwire explain RULE` says more. */
    rule: string;
    /** The indices of the inputs that prove it, for `tripwire why`. */
    evidence: Array<number>;
    /** How long to wait before asking again, where waiting helps. */
    retryAfterMs?: number | null;
    /** The code with which a person allows a held call: `tripwire allow --once CODE`. */
    code?: string | null;
    /** The whole refusal as the model should read it. */
    message: string;
    /** What a person can do about it. */
    hint: string;
  } | null;
}

/** Counts what one answer of a model used, in classes that do not overlap. */
export interface UsageParams {
  /** The model's name, for its price. */
  model: string;
  /** Input that no cache had. */
  inputTokens?: number;
  /** Output without reasoning. */
  outputTokens?: number;
  /** Input read from a cache. */
  cacheReadTokens?: number;
  /** Input written to a cache. */
  cacheWriteTokens?: number;
  /** Reasoning, charged as output. */
  reasoningTokens?: number;
  /** Tokens in the context now. */
  contextTokens?: number | null;
  /** The sub-agent that asked the model. */
  agent?: string | null;
}

/** The answer to a result, to figures, or to an announcement: the work is done, and this follows from it. */
export interface UsageResult {
  /** What the agent should know. */
  note?: string | null;
  /** Why nothing may follow, where that is so. */
  stop?: {
    /** Whether it is refused, or waits for a person. */
    kind: "refused" | "held";
    /** Why, in one sentence. */
    reason: string;
    /** The rule that decided; `tripwire explain RULE` says more. */
    rule: string;
    /** The indices of the inputs that prove it, for `tripwire why`. */
    evidence: Array<number>;
    /** How long to wait before asking again, where waiting helps. */
    retryAfterMs?: number | null;
    /** The code with which a person allows a held call: `tripwire allow --once CODE`. */
    code?: string | null;
    /** The whole refusal as the model should read it. */
    message: string;
    /** What a person can do about it. */
    hint: string;
  } | null;
}

/** Announces a sub-agent. */
export interface ChildParams {
  /** What it is called; another of this name gets a number. */
  name: string;
  /** The sub-agent that starts it; by default the main agent. */
  parent?: string | null;
}

/** The answer to an announcement. */
export interface ChildResult {
  /** Its id, for `before` and `usage`. */
  agent?: string | null;
  /** Why it may not start. */
  stop?: {
    /** Whether it is refused, or waits for a person. */
    kind: "refused" | "held";
    /** Why, in one sentence. */
    reason: string;
    /** The rule that decided; `tripwire explain RULE` says more. */
    rule: string;
    /** The indices of the inputs that prove it, for `tripwire why`. */
    evidence: Array<number>;
    /** How long to wait before asking again, where waiting helps. */
    retryAfterMs?: number | null;
    /** The code with which a person allows a held call: `tripwire allow --once CODE`. */
    code?: string | null;
    /** The whole refusal as the model should read it. */
    message: string;
    /** What a person can do about it. */
    hint: string;
  } | null;
}

/** Takes nothing. */
export interface StatusParams {}

/** A session at a glance. */
export interface StatusResult {
  /** The session's id, for `tripwire log --session ID`. */
  session: string;
  /** The workspace's folder. */
  workspace: string;
  /** Why it is held or ended, in words; absent while it may go on. */
  held?: string | null;
  /** Spent so far, in millionths of a dollar. */
  spentMicroUsd: number;
  /** The budget, in millionths of a dollar; absent where there is none. */
  budgetMicroUsd?: number | null;
  /** Tokens used so far. */
  tokens: number;
  /** Steps so far. */
  steps: number;
  /** Health in thousandths. */
  healthPerMille: number;
  /** Calls without a result. */
  openCalls: number;
  /** Sub-agents that were announced. */
  agents: number;
}

/** Takes nothing. */
export interface CloseParams {}

/** A session at a glance. */
export interface CloseResult {
  /** The session's id, for `tripwire log --session ID`. */
  session: string;
  /** The workspace's folder. */
  workspace: string;
  /** Why it is held or ended, in words; absent while it may go on. */
  held?: string | null;
  /** Spent so far, in millionths of a dollar. */
  spentMicroUsd: number;
  /** The budget, in millionths of a dollar; absent where there is none. */
  budgetMicroUsd?: number | null;
  /** Tokens used so far. */
  tokens: number;
  /** Steps so far. */
  steps: number;
  /** Health in thousandths. */
  healthPerMille: number;
  /** Calls without a result. */
  openCalls: number;
  /** Sub-agents that were announced. */
  agents: number;
}

/** The methods, with what each takes and gives. */
export interface Methods {
  initialize: { params: InitializeParams; result: InitializeResult };
  before: { params: BeforeParams; result: BeforeResult };
  after: { params: AfterParams; result: AfterResult };
  usage: { params: UsageParams; result: UsageResult };
  child: { params: ChildParams; result: ChildResult };
  status: { params: StatusParams; result: StatusResult };
  close: { params: CloseParams; result: CloseResult };
}
