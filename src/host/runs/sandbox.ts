/** A sandbox of an account: runs code that was just written, each time in a realm of its own, with functions of the application as tools. */

import type { FunctionServices, ServiceEntry } from '../../backend/calls/answer-call.js';
import { type CallbackShare, callbackBinding } from '../../bindings/callbacks/callback-binding.js';
import type { CompiledRules } from '../../bindings/egress/rules/compiled-rules.js';
import { EgressPolicy } from '../../bindings/egress/rules/egress-policy.js';
import type { EgressHost, EgressRules } from '../../bindings/egress/rules/egress-rules.js';
import type { Service } from '../../bindings/service.js';
import { compileRules, narrowed, placeholdersOf } from '../../config-schema/compile-egress.js';
import { EGRESS_HOSTS, EGRESS_RULES } from '../../config-schema/egress-shapes.js';
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
  /**
   * The hosts that `fetch()`, `connect()` and WebSockets of the code may reach, and secrets: `env` has a placeholder for each. The `hosts` of the account are
   * asked, too; its secrets are not in `env`. @default no network
   */
  readonly egress?: EgressRules;
  readonly limits?: SandboxLimits;
  /** Names of functions of the account that get a record of each run, as the `tails` of `load()` do. @default none */
  readonly tails?: readonly string[];
  /** Decides about each call of a tool before it is made, when its input is valid. Its time is wall time of the run. @default all are made */
  readonly approve?: (call: PendingCall) => Approval | Promise<Approval>;
}

/** The options of `sandbox.with()`. */
export interface NarrowedOptions<Inputs = unknown> extends Pick<SandboxOptions<Inputs>, 'tools' | 'limits'> {
  /** The runs reach a host only if both lists allow it, this one and the sandbox's. The secrets stay. @default the sandbox's list */
  readonly egress?: { readonly hosts: readonly (string | EgressHost)[] };
}

/** The parts of an account that its sandboxes use. */
export interface SandboxAccount {
  readonly id: string;
  readonly host: AccountHost;
  readonly limits: () => AccountLimits;
  /** The rules of the account itself. */
  readonly egress: () => EgressRules | undefined;
  readonly threads: RunThreads;
  /** @throws EdgeError when the account is gone */
  readonly check: () => void;
}

/** The same without the types of single tools. */
type AnyOptions = Omit<SandboxOptions, 'tools'> & { readonly tools?: Tools };
type AnyNarrowed = Omit<NarrowedOptions, 'tools'> & { readonly tools?: Tools };

const TOOLS = record(anything()) as Schema<Tools>; // compileTools() checks them

const OPTIONS: Schema<AnyOptions> = objectOf<AnyOptions>({
  'name?': NAME,
  'tools?': TOOLS,
  'egress?': EGRESS_RULES,
  'limits?': SANDBOX_LIMITS,
  'tails?': TAILS,
  'approve?': native('function'),
});

const WITH_OPTIONS: Schema<AnyNarrowed> = objectOf<AnyNarrowed>({
  'tools?': TOOLS,
  'egress?': objectOf<NonNullable<AnyNarrowed['egress']>>({ hosts: EGRESS_HOSTS }),
  'limits?': SANDBOX_LIMITS,
});

const RUN_OPTIONS: Schema<RunOptions> = objectOf<RunOptions>({
  'input?': anything(),
  'signal?': native('object', 'an AbortSignal'),
  'onLog?': native('function'),
  'onCall?': native('function'),
});

const NO_NETWORK: EgressRules = { hosts: [] };

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
  /** Its own rules, and those that `with()` has added: all must allow a request. */
  readonly #egress: readonly EgressRules[];
  /** They are replaced when the limits or the rules of the account change. */
  #parts:
    | { readonly limits: AccountLimits; readonly egress: EgressRules | undefined; readonly parts: RunParts }
    | undefined;

  /** Sandboxes are made by `account.sandbox(options)`, with `narrower` rules by `with()`. @throws TypeError or RangeError for options that are not valid */
  constructor(account: SandboxAccount, options: AnyOptions = {}, narrower: readonly EgressRules[] = []) {
    checkOptions('sandbox()', options, OPTIONS);
    this.#egress = structuredClone([options.egress ?? NO_NETWORK, ...narrower]);
    this.#account = account;
    this.#options = givenOf(options);
    this.name = options.name ?? 'sandbox';
    this.#tools = compileTools(options.tools ?? {});
    this.#stats.addTimesTo(account.host.stats);
    this.#current();
  }

  /**
   * A sandbox with further tools, lower limits and fewer hosts, and otherwise with the options of this one. It has no sessions yet.
   *
   * @param options a limit that is higher than this sandbox's has no effect
   * @throws as `account.sandbox()` does
   */
  with<const Inputs>(options: NarrowedOptions<Inputs>): AccountSandbox {
    checkOptions('with()', options, WITH_OPTIONS);
    const { own } = this.#current().limits;
    const limits = Object.entries(givenOf(options.limits ?? {})).map(([name, limit]) => [
      name,
      Math.min(limit, own[name as keyof typeof own]), // a key of the same schema
    ]);
    const [, ...before] = this.#egress;
    const given = {
      ...this.#options,
      tools: { ...this.#options.tools, ...(options.tools as Tools) }, // each of them is a tool or a namespace
      limits: { ...this.#options.limits, ...Object.fromEntries(limits) },
    };
    return new AccountSandbox(
      this.#account,
      given,
      options.egress === undefined ? before : [...before, options.egress],
    );
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
    const egress = this.#account.egress();
    if (this.#parts?.limits !== limits || this.#parts.egress !== egress)
      this.#parts = { limits, egress, parts: this.#make(limits, egress, this.#parts !== undefined) };
    return this.#parts.parts;
  }

  #make(account: AccountLimits, rules: EgressRules | undefined, isLater: boolean): RunParts {
    const { id, host, threads } = this.#account;
    const limits = runLimits(account, this.name, this.#options.limits ?? {}, isLater);
    const share = host.bindings.shared<CallbackShare>(callbackBinding);
    const { approve } = this.#options;
    const egress = this.#rules(rules);
    return {
      context: this.#context(limits),
      limits,
      place: threads,
      services: new Map([...this.#refused(), ...this.#network(limits, egress)]),
      env: placeholdersOf(egress),
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

  #rules(account: EgressRules | undefined): CompiledRules {
    const { id } = this.#account;
    const owner = `sandbox "${this.name}" of account "${id}"`;
    const [own = NO_NETWORK, ...narrower] = this.#egress;
    // The secrets of the account are not for code that nobody has read.
    const hosts = account && { hosts: account.hosts };
    const compiled = compileRules({ rules: hosts, owner: `account "${id}"` }, { rules: own, owner }, new Set());
    return narrower.reduce((rules, fewer) => narrowed(rules, { rules: fewer, owner: `with() of ${owner}` }), compiled);
  }

  /** The services of outgoing requests, under the rules. */
  #network({ resolved: limits }: RunLimits, egress: CompiledRules): FunctionServices {
    const { id: account, host, check } = this.#account;
    const policy = new EgressPolicy(egress, (refusal, unreported, origin) =>
      host.emitEgress({ account, function: this.name, invocation: origin?.invocation, ...refusal, unreported }),
    );
    return host.runNetwork.services({
      account,
      function: this.name,
      limits,
      props: {},
      compatibility: { date: '', flags: [] },
      check,
      given: { bodies: host.bodies, of: `sandbox "${this.name}" of account "${account}"` },
      // Code of a run serves no zone.
      checkUrl: () => {},
      localOf: (url, origin) => host.localSend(account, url, origin),
      egress: policy,
    });
  }

  /** Every other service refuses its calls: an isolate may call any of them, whatever its realm has. */
  #refused(): FunctionServices {
    const service: Service = async () => {
      throw new EdgeError(
        'EDGE_EGRESS_DENIED',
        `The code of sandbox "${this.name}" has no such service: it may call its tools, and the hosts of option egress of sandbox()`,
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
