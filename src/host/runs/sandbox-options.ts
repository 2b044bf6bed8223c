/** The options of sandboxes, of their runs and of their sessions, with the schemas that check them. */
import type { EgressHost, EgressRules } from '../../bindings/egress/rules/egress-rules.js';
import { EGRESS_HOSTS, EGRESS_RULES } from '../../config-schema/egress-shapes.js';
import { NAME, TAILS } from '../../config-schema/function-shapes.js';
import { describe } from '../../quotas/schema/describe.js';
import {
  anything,
  flag,
  native,
  objectOf,
  record,
  type Schema,
  text,
  wholeNumber,
  wholeNumberOrInfinity,
} from '../../quotas/schema/schema.js';
import { SANDBOX_LIMITS } from './run-limits.js';
import type { SessionOptions } from './session.js';
import type { Tools, ToolsOf } from './tools/tool-types.js';
import type { Approval, PendingCall, ResumeOptions, RunOptions, SandboxLimits } from './types.js';

export interface SandboxOptions<Inputs = unknown> {
  /** Names its runs in events, logs, usage and errors, where functions have their names. @default 'sandbox' */
  readonly name?: string;
  /** Functions that the code may call as `tools.name(input)`, and namespaces of them. @default none */
  readonly tools?: ToolsOf<Inputs>;
  /**
   * The hosts that `fetch()`, `connect()` and WebSockets of the code may reach, and secrets: `env` has a placeholder for each. The `hosts` of the account are
   * asked, too; its secrets are not in `env`. @default no network
   */
  readonly egress?: EgressRules;
  readonly limits?: SandboxLimits;
  /** Names of functions of the account that get a record of each run, as the `tails` of `load()` do. @default none */
  readonly tails?: readonly string[];
  /**
   * Decides about each call of a tool before it is made, when its input is valid. Its time is wall time of the run. With `approve`, the clock of the code
   * stands still between answers, so that a run can be paused. @default all are made
   */
  readonly approve?: (call: PendingCall) => Approval | Promise<Approval>;
  /** How long a paused run can be resumed, in milliseconds: 60,000 to 2,592,000,000 (30 days). It is deleted then. @default 604,800,000 (7 days) */
  readonly pausedMs?: number;
}

/** The options of `sandbox.with()`. */
export interface NarrowedOptions<Inputs = unknown> extends Pick<SandboxOptions<Inputs>, 'tools' | 'limits'> {
  /** The runs reach a host only if both lists allow it, this one and the sandbox's. The secrets stay. @default the sandbox's list */
  readonly egress?: { readonly hosts: readonly (string | EgressHost)[] };
}

/** The same without the types of single tools. */
export type AnyOptions = Omit<SandboxOptions, 'tools'> & { readonly tools?: Tools };
export type AnyNarrowed = Omit<NarrowedOptions, 'tools'> & { readonly tools?: Tools };

const TOOLS = record(anything()) as Schema<Tools>; // compileTools() checks them

const MIN_PAUSED_MS = 60_000;
const MAX_PAUSED_MS = 30 * 86_400_000;
export const PAUSED_MS = 7 * 86_400_000;
const MAX_NOTE = 1000;

export const OPTIONS: Schema<AnyOptions> = objectOf<AnyOptions>({
  'name?': NAME,
  'tools?': TOOLS,
  'egress?': EGRESS_RULES,
  'limits?': SANDBOX_LIMITS,
  'tails?': TAILS,
  'approve?': native('function'),
  'pausedMs?': wholeNumber(MIN_PAUSED_MS, MAX_PAUSED_MS, 'ms'),
});

export const WITH_OPTIONS: Schema<AnyNarrowed> = objectOf<AnyNarrowed>({
  'tools?': TOOLS,
  'egress?': objectOf<NonNullable<AnyNarrowed['egress']>>({ hosts: EGRESS_HOSTS }),
  'limits?': SANDBOX_LIMITS,
});

export const RUN_OPTIONS: Schema<RunOptions> = objectOf<RunOptions>({
  'input?': anything(),
  'signal?': native('object', 'an AbortSignal'),
  'onLog?': native('function'),
  'onCall?': native('function'),
});

export const RESUME_OPTIONS: Schema<ResumeOptions> = objectOf<ResumeOptions>({
  approved: flag(),
  'note?': text({ minLength: 1, maxLength: MAX_NOTE, description: 'a text of 1 to 1,000 characters' }),
  'signal?': native('object', 'an AbortSignal'),
  'onLog?': native('function'),
  'onCall?': native('function'),
});

export const NO_NETWORK: EgressRules = { hosts: [] };

export const SESSION_IDLE_MS = 300_000;

export const SESSION = objectOf<SessionOptions & { readonly name: string }>({
  name: text({ minLength: 1, maxLength: 200, description: 'a text of 1 to 200 characters' }),
  'idleMs?': wholeNumberOrInfinity(1, 'ms'),
});

/** @throws TypeError */
export function checkSignal(call: string, signal: AbortSignal | undefined): void {
  if (signal !== undefined && typeof signal.addEventListener !== 'function')
    throw new TypeError(`Option signal of ${call} is ${describe(signal)}, expected an AbortSignal`);
}
