/** A sandbox of an account: runs code that was just written, each time in a realm of its own, with functions of the application as tools. */

import type { FunctionServices, ServiceEntry } from '../../backend/calls/answer-call.js';
import { type CallbackShare, callbackBinding } from '../../bindings/callbacks/callback-binding.js';
import type { CompiledRules } from '../../bindings/egress/rules/compiled-rules.js';
import { EgressPolicy } from '../../bindings/egress/rules/egress-policy.js';
import type { EgressRules } from '../../bindings/egress/rules/egress-rules.js';
import type { KvNamespace } from '../../bindings/kv/types.js';
import type { Service } from '../../bindings/service.js';
import { compileRules, narrowed, placeholdersOf } from '../../config-schema/compile-egress.js';
import { EdgeError } from '../../quotas/errors.js';
import { checkOptions, givenOf } from '../../quotas/schema/check-options.js';
import { describe } from '../../quotas/schema/describe.js';
import type { AccountHost } from '../account-host.js';
import type { AccountLimits } from '../account-limits.js';
import { FunctionStats } from '../invocation/function-stats.js';
import type { InvocationContext } from '../invocation/invocation-context.js';
import type { Ledger } from './paused/ledger.js';
import { bytesOf } from './paused/ledger-bytes.js';
import { PAUSED_RUNS, PausedRuns } from './paused/paused-runs.js';
import { type Decision, RunRecord } from './paused/run-record.js';
import { encodedInput, type RunParts, type RunPlace, type RunRecordParts, runOnce } from './run.js';
import { type RunLimits, runLimits } from './run-limits.js';
import type { RunThreads } from './run-threads.js';
import {
  type AnyOptions,
  checkSignal,
  type NarrowedOptions,
  NO_NETWORK,
  OPTIONS,
  PAUSED_MS,
  RESUME_OPTIONS,
  RUN_OPTIONS,
  SESSION,
  SESSION_IDLE_MS,
  WITH_OPTIONS,
} from './sandbox-options.js';
import { type SandboxSession, type SessionOptions, Sessions } from './session.js';
import { ToolCalls } from './tool-calls.js';
import { envDeclaration } from './tools/declarations.js';
import { compileTools, type ToolSet } from './tools/tool-set.js';
import type { Tools } from './tools/tool-types.js';
import type { PausedRun, ResumeOptions, RunOptions, RunResult } from './types.js';

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
  /** The application's client of a key-value namespace. */
  readonly kv: (name: string) => KvNamespace;
}

export class AccountSandbox {
  readonly name: string;
  readonly #account: SandboxAccount;
  readonly #options: AnyOptions;
  readonly #tools: ToolSet;
  readonly #stats = new FunctionStats();
  readonly #paused: PausedRuns;
  readonly #sessions: Sessions;
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
    const { host, id, kv } = account;
    this.#paused = new PausedRuns({
      account: id,
      sandbox: this.name,
      maxMs: options.pausedMs ?? PAUSED_MS,
      kv: () => kv(PAUSED_RUNS),
      secretsKey: () => host.secretsKey(),
      work: host.share,
    });
    this.#sessions = new Sessions({
      threads: account.threads,
      runAt: (place, code, given) => this.#run(code, given, place),
      hold: bytes => host.share.bytes.countHeap(bytes),
    });
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

  /** TypeScript declarations of the tools, and of the secrets in `env`, for a prompt. */
  get types(): string {
    return this.#tools.types + envDeclaration(this.#egress[0]?.secrets ?? {});
  }

  /**
   * The declarations of the few tools that match, best first, for catalogues of hundreds. They do not have `env`.
   *
   * @param limit the most that are given. @default 5
   */
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
    checkSignal('run()', given.signal);
    const input = encodedInput(given.input);
    const parts = this.#current();
    if (place !== undefined) return await runOnce({ ...parts, place }, code, input, given);
    if (this.#options.approve === undefined) return await runOnce(parts, code, input, given);
    const keep = (ledger: Ledger): Promise<PausedRun> => this.#paused.put(this.#paused.newId(), ledger);
    return await runOnce({ ...parts, record: own => new RunRecord({ ...own, keep }) }, code, input, given);
  }

  /**
   * Continues a paused run. Its code runs again from the beginning, and gets the same answers, times and random values as before. The call that it waited for
   * is made then, or fails. `logs` has all lines again, `calls` only new ones. The run is deleted when it has continued and ended. It
   * stays when it could not continue, and when it is paused again, under the same id. It also stays when this process ends meanwhile: the call may then be
   * repeated, with the same `callId`.
   *
   * Rejects with TypeError or RangeError for options that are not valid. Rejects with EDGE_RUN_NOT_FOUND for an unknown, expired or ended run, or one of
   * another sandbox or account. Rejects with EDGE_RUN_BUSY when it is being resumed, and with EDGE_STORAGE_CORRUPT when its record was changed.
   */
  async resume(id: string, options: ResumeOptions): Promise<RunResult> {
    if (typeof id !== 'string') throw new TypeError(`The id of resume() is ${describe(id)}, expected text`);
    // JavaScript may leave them out.
    checkOptions('resume()', options ?? {}, RESUME_OPTIONS);
    const given = givenOf(options);
    checkSignal('resume()', given.signal);
    const name = `paused run ${this.#account.id}/${this.name}/${id}`;
    if (resuming.has(name))
      throw new EdgeError('EDGE_RUN_BUSY', `Cannot resume the run ${describe(id)}: it is being resumed already`);
    resuming.add(name);
    try {
      return await this.#account.host.alone(name, () => this.#resume(id, given));
    } finally {
      resuming.delete(name);
    }
  }

  async #resume(id: string, { approved, note, ...options }: ResumeOptions): Promise<RunResult> {
    const ledger = await this.#paused.get(id);
    if (ledger === undefined)
      throw new EdgeError(
        'EDGE_RUN_NOT_FOUND',
        `Cannot resume the run ${describe(id)}: sandbox "${this.name}" of account "${this.#account.id}" has no such paused run`,
      );
    const decision: Decision = approved ? { approved } : { approved, reason: note ?? 'The call was not approved' };
    const keep = (next: Ledger): Promise<PausedRun> => this.#paused.put(id, next);
    let resumed: RunRecord | undefined;
    const record = (own: RunRecordParts): RunRecord => {
      resumed = new RunRecord({ ...own, keep, resumed: { ledger, decision } });
      return resumed;
    };
    const { bytes, head } = ledger.input;
    const input = { head, body: bytes === null ? null : bytesOf(bytes) };
    const result = await runOnce({ ...this.#current(), record }, ledger.code, input, options);
    // The result is not lost with a storage that fails: the run then stays paused.
    if (result.status !== 'paused' && resumed?.isReplayed === true)
      await this.#paused.delete(id).catch((error: Error) => this.#account.host.warn(error));
    return result;
  }

  /** The paused runs of this sandbox in the storage, the oldest first. */
  paused(): AsyncIterable<PausedRun> {
    return this.#paused.list();
  }

  /** Deletes a paused run. Resolves with false for an unknown id. */
  async discard(id: string): Promise<boolean> {
    if (typeof id !== 'string') throw new TypeError(`The id of discard() is ${describe(id)}, expected text`);
    const isThere = await this.#paused.has(id);
    if (isThere) await this.#paused.delete(id);
    return isThere;
  }

  /**
   * The session of this name: its runs share a realm, one after the other, so that code finds in `globalThis` what the code before has left there. All
   * sessions of one name share the realm, which has the `options` of the one that began it. It is the same object while it has a realm.
   *
   * @throws TypeError or RangeError for a name or options that are not valid
   */
  session(name: string, options: SessionOptions = {}): SandboxSession {
    checkOptions('session()', { name, ...options }, SESSION);
    return this.#sessions.get(name, options.idleMs ?? SESSION_IDLE_MS);
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
      toolCalls: ({ onCall }, own) =>
        new ToolCalls({
          ...own,
          account: id,
          name: this.name,
          tools: this.#tools,
          limits: limits.own,
          approve,
          onCall,
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
      emitLog: event => host.emitLog(event, true),
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

/** The resumes of this process; other processes on the storage wait for each other. */
const resuming = new Set<string>();
