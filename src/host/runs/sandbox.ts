/** A sandbox of an account: runs code that was just written, each time in a realm of its own, with functions of the application as tools. */

import type { FunctionServices, ServiceEntry } from '../../backend/calls/answer-call.js';
import { type CallbackShare, callbackBinding } from '../../bindings/callbacks/callback-binding.js';
import type { Service } from '../../bindings/service.js';
import { NAME, TAILS } from '../../config-schema/function-shapes.js';
import { EdgeError } from '../../quotas/errors.js';
import { checkOptions, givenOf } from '../../quotas/schema/check-options.js';
import { describe } from '../../quotas/schema/describe.js';
import {
  anything,
  native,
  objectOf,
  record,
  type Schema,
  text,
  wholeNumberOrInfinity,
} from '../../quotas/schema/schema.js';
import type { AccountHost } from '../account-host.js';
import type { AccountLimits } from '../account-limits.js';
import { FunctionStats } from '../invocation/function-stats.js';
import type { InvocationContext } from '../invocation/invocation-context.js';
import { encodedInput, type RunParts, type RunPlace, runOnce } from './run.js';
import { type RunLimits, runLimits, SANDBOX_LIMITS } from './run-limits.js';
import type { RunThreads } from './run-threads.js';
import { SandboxSession, type SessionOptions } from './session.js';
import { ToolCalls } from './tool-calls.js';
import { compileTools, type ToolSet } from './tools/tool-set.js';
import type { Tools, ToolsOf } from './tools/tool-types.js';
import type { Approval, PendingCall, RunOptions, RunResult, SandboxLimits } from './types.js';

export interface SandboxOptions<Inputs = unknown> {
  /** Names its runs in events, logs, usage and errors, where functions have their names. @default 'sandbox' */
  readonly name?: string;
  /** Functions that the code may call as `tools.name(input)`, and namespaces of them. @default none */
  readonly tools?: ToolsOf<Inputs>;
  readonly limits?: SandboxLimits;
  /** Names of functions of the account that get a record of each run, as the `tails` of `load()` do. @default none */
  readonly tails?: readonly string[];
  /** Decides about each call of a tool before it is made, when its input is valid. Its time is wall time of the run. @default all are made */
  readonly approve?: (call: PendingCall) => Approval | Promise<Approval>;
}

/** The parts of an account that its sandboxes use. */
export interface SandboxAccount {
  readonly id: string;
  readonly host: AccountHost;
  readonly limits: () => AccountLimits;
  readonly threads: RunThreads;
  /** @throws EdgeError when the account is gone */
  readonly check: () => void;
}

/** The same without the types of single tools. */
type AnyOptions = Omit<SandboxOptions, 'tools'> & { readonly tools?: Tools };

const TOOLS = record(anything()) as Schema<Tools>; // compileTools() checks them

const OPTIONS: Schema<AnyOptions> = objectOf<AnyOptions>({
  'name?': NAME,
  'tools?': TOOLS,
  'limits?': SANDBOX_LIMITS,
  'tails?': TAILS,
  'approve?': native('function'),
});

const WITH_OPTIONS: Schema<Pick<AnyOptions, 'tools' | 'limits'>> = objectOf<Pick<AnyOptions, 'tools' | 'limits'>>({
  'tools?': TOOLS,
  'limits?': SANDBOX_LIMITS,
});

const RUN_OPTIONS: Schema<RunOptions> = objectOf<RunOptions>({
  'input?': anything(),
  'signal?': native('object', 'an AbortSignal'),
  'onLog?': native('function'),
  'onCall?': native('function'),
});

const SESSION_IDLE_MS = 300_000;

const SESSION = objectOf<SessionOptions & { readonly name: string }>({
  name: text({ minLength: 1, maxLength: 200, description: 'a text of 1 to 200 characters' }),
  'idleMs?': wholeNumberOrInfinity(1, 'ms'),
});

export class AccountSandbox {
  readonly name: string;
  readonly #account: SandboxAccount;
  readonly #options: AnyOptions;
  readonly #tools: ToolSet;
  readonly #stats = new FunctionStats();
  readonly #sessions = new Map<string, SandboxSession>();
  /** They are replaced when the limits of the account change. */
  #parts: { readonly of: AccountLimits; readonly parts: RunParts } | undefined;

  /** Sandboxes are made by `account.sandbox(options)`. @throws TypeError or RangeError for options that are not valid */
  constructor(account: SandboxAccount, options: AnyOptions = {}) {
    checkOptions('sandbox()', options, OPTIONS);
    this.#account = account;
    this.#options = givenOf(options);
    this.name = options.name ?? 'sandbox';
    this.#tools = compileTools(options.tools ?? {});
    this.#stats.addTimesTo(account.host.stats);
    this.#current();
  }

  /**
   * A sandbox with further tools and lower limits, and otherwise with the options of this one. It has no sessions yet.
   *
   * @param options a limit that is higher than this sandbox's has no effect
   * @throws as `account.sandbox()` does
   */
  with<const Inputs>(options: Pick<SandboxOptions<Inputs>, 'tools' | 'limits'>): AccountSandbox {
    checkOptions('with()', options, WITH_OPTIONS);
    const { own } = this.#current().limits;
    const limits = Object.entries(givenOf(options.limits ?? {})).map(([name, limit]) => [
      name,
      Math.min(limit, own[name as keyof typeof own]), // a key of the same schema
    ]);
    return new AccountSandbox(this.#account, {
      ...this.#options,
      tools: { ...this.#options.tools, ...(options.tools as Tools) }, // each of them is a tool or a namespace
      limits: { ...this.#options.limits, ...Object.fromEntries(limits) },
    });
  }

  /** TypeScript declarations of the tools, for a prompt. */
  get types(): string {
    return this.#tools.types;
  }

  /** The declarations of the few tools that match, best first, for catalogues of hundreds. @param limit the most that are given. @default 5 */
  search(text: string, limit?: number): string {
    return this.#tools.search(text, limit);
  }

  /**
   * Runs code in a fresh realm: the body of a function that has `tools`, `input` and `env`, or an ES module whose default export is called with
   * `{ tools, input, env }`; JavaScript or TypeScript. The result has a copy of the returned value. It never rejects because of the code: the `status` of the
   * result says how it has ended.
   *
   * Rejects with TypeError or RangeError for the caller's own mistakes: options that are not valid, code that is no text, an input that cannot be copied.
   */
  run(code: string, options: RunOptions = {}): Promise<RunResult> {
    return this.#run(code, options, undefined);
  }

  async #run(code: string, options: RunOptions, place: RunPlace | undefined): Promise<RunResult> {
    if (typeof code !== 'string') throw new TypeError(`The code of run() is ${describe(code)}, expected text`);
    checkOptions('run()', options, RUN_OPTIONS);
    const given = givenOf(options);
    if (given.signal !== undefined && typeof given.signal.addEventListener !== 'function')
      throw new TypeError(`Option signal of run() is ${describe(given.signal)}, expected an AbortSignal`);
    const input = encodedInput(given.input);
    const parts = this.#current();
    return await runOnce(place === undefined ? parts : { ...parts, place }, code, input, given);
  }

  /**
   * The session of this name: its runs share a realm, one after the other, so that code finds in `globalThis` what the code before has left there. The
   * same object as before, until it is closed; the `options` of the first call count.
   *
   * @throws TypeError or RangeError for a name or options that are not valid
   */
  session(name: string, options: SessionOptions = {}): SandboxSession {
    checkOptions('session()', { name, ...options }, SESSION);
    const known = this.#sessions.get(name);
    if (known !== undefined) return known;
    const { idleMs = SESSION_IDLE_MS } = options;
    const session: SandboxSession = new SandboxSession(
      name,
      idleMs,
      this.#account.threads,
      (place, code, given) => this.#run(code, given, place),
      () => {
        if (this.#sessions.get(name) === session) this.#sessions.delete(name);
      },
    );
    this.#sessions.set(name, session);
    return session;
  }

  #current(): RunParts {
    const limits = this.#account.limits();
    if (this.#parts?.of !== limits) this.#parts = { of: limits, parts: this.#make(limits, this.#parts !== undefined) };
    return this.#parts.parts;
  }

  #make(account: AccountLimits, isLater: boolean): RunParts {
    const { id, host, threads } = this.#account;
    const limits = runLimits(account, this.name, this.#options.limits ?? {}, isLater);
    const share = host.bindings.shared<CallbackShare>(callbackBinding);
    const { approve } = this.#options;
    return {
      context: this.#context(limits),
      limits,
      place: threads,
      refused: this.#refused(),
      toolNames: this.#tools.names,
      toolCalls: ({ onCall }, trace) =>
        new ToolCalls({
          account: id,
          name: this.name,
          tools: this.#tools,
          limits: limits.own,
          approve,
          onCall,
          trace,
          share,
          given: { bodies: host.bodies, of: `sandbox "${this.name}" of account "${id}"` },
        }),
    };
  }

  #context({ resolved: limits }: RunLimits): InvocationContext {
    const { id: account, host, check } = this.#account;
    const usage = host.functionUsage(this.name);
    return {
      account,
      function: this.name,
      version: '',
      limits,
      services: new Map(),
      share: host.share,
      idleHttpMs: Number.POSITIVE_INFINITY,
      bodies: host.bodies,
      // Nothing is lent to runs.
      cpuGrant: limitMs => limitMs,
      connectionSlotRelease: host.connectionSlotRelease,
      admit: async (mode, address) => {
        check();
        return await host.admission.check({ account, limits, mode, address });
      },
      requests: () => host.admission.counted(account),
      emitLog: event => host.emitLog(event),
      tails: host.tails.of([...new Set(this.#options.tails)]),
      isReportHeard: () => host.wantsInvocations(),
      onFinished: (outcome, used, event, trace) => {
        this.#stats.record(outcome, used);
        usage?.add(outcome, used);
        if (host.wantsInvocations()) host.emitInvocation(event(), trace);
      },
    };
  }

  /** Every service but the tools refuses its calls: an isolate may call any of them, whatever its realm has. */
  #refused(): FunctionServices {
    const service: Service = async () => {
      throw new EdgeError(
        'EDGE_EGRESS_DENIED',
        `The code of sandbox "${this.name}" has no network: it may call its tools`,
      );
    };
    const entries = new Map<number, ServiceEntry>();
    for (const row of this.#account.host.bindings.registry.rows) {
      const services = new Map<string, Service>(row.implicit === true ? [['', service]] : []);
      entries.set(row.id, { definition: row, services });
    }
    return entries;
  }
}
