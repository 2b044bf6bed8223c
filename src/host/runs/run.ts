/** One run: it takes a thread whose realm is new, gives it the code, and returns or ends it. */

import type { FunctionServices } from '../../backend/calls/answer-call.js';
import { valueBody } from '../../bindings/callbacks/call-body.js';
import type { Service, ServiceBody } from '../../bindings/service.js';
import type { IsolateHandle } from '../../pool/host/isolate-handle.js';
import { IsolateGone } from '../../pool/host/isolate-loss.js';
import type { LoadHead } from '../../protocol/messages.js';
import { EdgeError, errorCode } from '../../quotas/errors.js';
import { guarded } from '../../quotas/guarded.js';
import { ServiceId, TOOLS } from '../../quotas/service-calls.js';
import { scanModules } from '../deploy/scan-modules.js';
import type { InvocationOutcome, LogEvent } from '../events.js';
import { checkAdmission } from '../invocation/failures/admission-refusal.js';
import type { InvocationTarget } from '../invocation/function-runner.js';
import { Invocation } from '../invocation/invocation.js';
import type { InvocationContext } from '../invocation/invocation-context.js';
import { LogBudget } from '../invocation/reports/log-budget.js';
import { rounded } from '../invocation/reports/rounded.js';
import { receive } from '../rpc/application-rpc.js';
import { checkAnswer } from '../rpc/call-heads.js';
import type { CalleeAnswer } from '../rpc/call-sink.js';
import { run as runCall, StartOfRun } from '../rpc/run-call.js';
import { base64 } from './paused/ledger-bytes.js';
import type { RecordParts, RunRecord } from './paused/run-record.js';
import { boundedBody, hintIn } from './run-answer.js';
import { isLimit, messageIn, runError, toEdgeError } from './run-errors.js';
import { runHead } from './run-head.js';
import { type RunLimits, runLimitError } from './run-limits.js';
import type { RunThread } from './run-threads.js';
import { report, TOOL_ROW, type ToolCalls, type ToolCallsOptions } from './tool-calls.js';
import type { RunLog, RunOptions, RunResult, RunUsage } from './types.js';

/** The file that the code is, in stacks. */
const FILE = 'run.js';
/** A thread that does not end a run in this time is inside a turn, and is ended itself. */
const END_WITHIN_MS = 100;
/** A cell that does not answer at all is given up. */
const LOAD_WALL_MS = 30_000;
/** The size of a waiting run, besides its texts and bytes. */
const WAITING_BYTES = 2048;
/** Each line is an object of the application's, however short it is. */
const MAX_LINES = 10_000;
/** A line without its text: 102 bytes (measured on Node 20.20). */
const LINE_BYTES = 112;

/** Where a run gets its thread, and where it leaves it. */
export interface RunPlace {
  take(signal: AbortSignal): Promise<RunThread>;
  /** `isClean`: nothing but an answer or an exception has ended the run. */
  give(thread: RunThread, isClean: boolean): void;
  end(thread: RunThread): void;
}

export interface RunParts {
  /** The context that all runs of the sandbox share. It has no services. */
  readonly context: InvocationContext;
  readonly limits: RunLimits;
  readonly place: RunPlace;
  /** The services that it may call besides its tools; most of them refuse. */
  readonly services: FunctionServices;
  /** Placeholders of secrets. */
  readonly env: LoadHead['env'];
  readonly toolNames: readonly string[];
  /** Makes the record of a run that may be paused. @default runs cannot be paused */
  readonly record?: (parts: RunRecordParts) => RunRecord;
  toolCalls(options: RunOptions, own: RunCallsParts): ToolCalls;
}

/** The parts of a record that its run provides. */
export type RunRecordParts = Pick<RecordParts, 'hold' | 'onPaused' | 'onDiverged'>;

/** The parts of its calls that a run provides. `trace`: its record for OpenTelemetry, once it has begun. */
export type RunCallsParts = Pick<ToolCallsOptions, 'trace' | 'record' | 'hold'>;

/** How it went, as its invocation reports it. */
interface Finished {
  readonly outcome: InvocationOutcome;
  readonly id: string;
  readonly usage: RunUsage;
}

/** @throws TypeError or RangeError for an input that cannot be copied */
export function encodedInput(input: unknown): { readonly head: string; readonly body: ServiceBody | null } {
  const { form, body } = valueBody(input, 'The input of run()');
  return { head: JSON.stringify(form), body };
}

/** Runs the code. Never rejects. */
export async function runOnce(
  parts: RunParts,
  code: string,
  input: ReturnType<typeof encodedInput>,
  options: RunOptions,
): Promise<RunResult> {
  return await new Run(parts, options).result(code, input);
}

class Run {
  readonly #parts: RunParts;
  readonly #options: RunOptions;
  readonly #tools: ToolCalls;
  readonly #record: RunRecord | undefined;
  /** The record of the run, once it is paused. */
  #paused: RunRecord | undefined;
  readonly #logs: RunLog[] = [];
  readonly #logBudget: LogBudget;
  readonly #startedMs = performance.now();
  /** Fires when the caller's signal does, and never else. */
  readonly #aborting = new AbortController();
  #invocation: Invocation | undefined;
  #finished: Finished | undefined;
  /** The limits that its calls of services have passed. */
  #exceeded: readonly EdgeError[] = [];
  #onFinished: () => void = () => {};
  #heldBytes = 0;
  #isOver = false;

  constructor(parts: RunParts, options: RunOptions) {
    this.#parts = parts;
    this.#options = options;
    const { share } = parts.context;
    this.#record = parts.record?.({
      hold: bytes => share.bytes.countHeap(bytes),
      onPaused: () => {
        this.#paused = this.#record;
        this.#end(new EdgeError('EDGE_CANCELED', 'The run is paused'));
      },
      onDiverged: error => this.#end(error),
    });
    this.#tools = parts.toolCalls(options, {
      trace: () => this.#invocation?.trace,
      record: this.#record,
      hold: bytes => this.#hold(bytes),
    });
    this.#logBudget = new LogBudget(parts.limits.own.logBytes);
  }

  async result(code: string, input: ReturnType<typeof encodedInput>): Promise<RunResult> {
    const { signal } = this.#options;
    const onAbort = guarded((): void => this.#abort(signal?.reason));
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      if (signal?.aborted === true) onAbort();
      const { value, hint } = await this.#run(code, input);
      const divergence = this.#record?.divergence();
      if (divergence !== undefined) throw divergence;
      return { status: 'ok', value, ...(hint !== undefined && { hint }), ...this.#outcome() };
    } catch (error) {
      return this.#paused === undefined ? this.#failure(error) : await this.#pause(this.#paused, code, input);
    } finally {
      signal?.removeEventListener('abort', onAbort);
      this.#tools.over();
      this.#record?.over();
      this.#hold(-this.#heldBytes);
      this.#isOver = true;
    }
  }

  /** Memory of the host for lines and calls: the account pays for it until the application has the result. */
  #hold(bytes: number): void {
    if (this.#isOver) return;
    this.#heldBytes += bytes;
    this.#parts.context.share.bytes.countHeap(bytes);
  }

  async #run(
    code: string,
    input: ReturnType<typeof encodedInput>,
  ): Promise<{ readonly value: unknown; readonly hint: string | undefined }> {
    const { context, limits, place } = this.#parts;
    const source = Buffer.from(code);
    const { sourceBytes } = limits.own;
    if (source.length > sourceBytes) throw runLimitError(this.#subject, 'sourceBytes', source.length, sourceBytes);
    this.#aborting.signal.throwIfAborted();
    await checkAdmission(context, 'fail-closed');
    const thread = await this.#waited(code, source, input);
    let isClean = false;
    try {
      this.#aborting.signal.throwIfAborted();
      const outcome = await this.#call(thread, input);
      isClean = this.#finished?.outcome === 'ok' || this.#finished?.outcome === 'exception';
      return outcome;
    } catch (error) {
      isClean = this.#finished?.outcome === 'exception' && errorCode(error) === 'EDGE_HANDLER_THREW';
      throw error;
    } finally {
      place.give(thread, isClean);
    }
  }

  /** The thread of {@link #loaded}. Until the run has it, the account pays for what it holds, as for a request that waits for its isolate. */
  async #waited(code: string, source: Uint8Array, { head, body }: ReturnType<typeof encodedInput>): Promise<RunThread> {
    const { share } = this.#parts.context;
    share.checkInvocation();
    const inputBytes = body instanceof Uint8Array ? body.length : 0;
    // A character takes two bytes at most.
    const release = share.holdWaiting(WAITING_BYTES + code.length * 2 + head.length * 2 + source.length + inputBytes);
    try {
      const module = { name: FILE, kind: 'esm', bytes: source.length } as const;
      const modules = await scanModules({ modules: [module], body: source }, share);
      return await this.#loaded(runHead(this.#parts, this.#record, modules), source);
    } finally {
      release();
    }
  }

  /** A thread whose realm has the code, which has not been evaluated. A thread that was lost meanwhile is replaced, once. */
  async #loaded(head: LoadHead, source: Uint8Array): Promise<RunThread> {
    const { place } = this.#parts;
    for (let tries = 0; ; tries++) {
      const thread = await place.take(this.#aborting.signal);
      const timer = setTimeout(
        guarded(() => thread.isolate.end()),
        LOAD_WALL_MS,
      );
      try {
        await thread.isolate.load(head, source);
        return thread;
      } catch (error) {
        place.give(thread, false);
        if (!(error instanceof IsolateGone)) throw error;
        if (tries > 0)
          throw new EdgeError('EDGE_ISOLATE_LOST', `Cannot ${this.#subject}: its isolate ended (${error.reason})`);
      } finally {
        clearTimeout(timer);
      }
    }
  }

  async #call(
    thread: RunThread,
    input: ReturnType<typeof encodedInput>,
  ): Promise<{ readonly value: unknown; readonly hint: string | undefined }> {
    const finished = new Promise<void>(resolve => {
      this.#onFinished = resolve;
    });
    const context = this.#context();
    const begin = (isolate: IsolateHandle, ...[start, sink]: Parameters<InvocationTarget['runNow']>): Invocation => {
      context.share.checkInvocation();
      this.#invocation = new Invocation(context, isolate, start, sink);
      return this.#invocation;
    };
    const target: InvocationTarget = {
      context,
      runNow: (start, sink) => begin(thread.isolate, start, sink),
      run: async (start, sink) => begin(thread.isolate, start, sink),
    };
    try {
      const answer = await runCall(target, new StartOfRun(input.head, this.#tools.totals), input.body, undefined);
      return await this.#value(context, answer);
    } catch (error) {
      this.#endSoon(thread);
      throw error;
    } finally {
      if (this.#invocation !== undefined) await finished;
    }
  }

  async #value(
    context: InvocationContext,
    { head, body }: CalleeAnswer,
  ): Promise<{ readonly value: unknown; readonly hint: string | undefined }> {
    const form = checkAnswer(head);
    const { resultBytes } = this.#parts.limits.own;
    const exceeded = (bytes: number): EdgeError => runLimitError(this.#subject, 'resultBytes', bytes, resultBytes);
    const declared = ('b' in form ? (form.b ?? []) : []).reduce((sum, length) => sum + length, 0);
    if (declared > resultBytes) throw exceeded(declared);
    const bounded = body === null ? null : boundedBody(body, resultBytes, exceeded);
    const value = await receive(context, form, bounded, [], 'run', context.share);
    return { value, hint: value === undefined ? hintIn(head) : undefined };
  }

  /** The isolate ends with a run that it does not end itself. */
  #endSoon(thread: RunThread): void {
    const invocation = this.#invocation;
    if (invocation === undefined || this.#finished !== undefined) return;
    invocation.close();
    const timer = setTimeout(
      guarded(() => this.#parts.place.end(thread)),
      END_WITHIN_MS,
    );
    const before = this.#onFinished;
    this.#onFinished = () => {
      clearTimeout(timer);
      before();
    };
  }

  #abort(reason: unknown): void {
    const error = new EdgeError('EDGE_CANCELED', 'The run was aborted by its signal', { cause: reason });
    this.#aborting.abort(error);
    this.#end(error);
  }

  #end(error: EdgeError): void {
    this.#invocation?.end(error, 'canceled');
  }

  get #subject(): string {
    const { account, function: name } = this.#parts.context;
    return `finish the run of sandbox "${name}" of account "${account}"`;
  }

  /** The context of the sandbox, with the services, the record and the report of this run. */
  #context(): InvocationContext {
    const { context } = this.#parts;
    const services = new Map(this.#parts.services);
    // Answers of the network are in no ledger.
    if (this.#record !== undefined) for (const [id, entry] of services) services.set(id, this.#record.spoiledBy(entry));
    services.set(ServiceId.Callback, {
      definition: TOOL_ROW,
      services: new Map<string, Service>([[TOOLS, this.#tools.service]]),
    });
    return {
      ...context,
      services,
      emitLog: event => this.#log(event),
      onFinished: (outcome, used, event, trace) => {
        // The event has the calls that end with it.
        this.#tools.over();
        const { cpuMs, wallMs, peakBytes: memoryBytes, accounting } = used;
        const egressBytes = (accounting?.egressSentBytes ?? 0) + (accounting?.egressReceivedBytes ?? 0);
        const id = this.#invocation?.invocation ?? '';
        this.#exceeded = accounting?.exceeded ?? [];
        this.#finished = { outcome, id, usage: { cpuMs, wallMs, memoryBytes, egressBytes } };
        context.onFinished(outcome, used, event, trace);
        this.#onFinished();
      },
    };
  }

  #log(event: LogEvent): void {
    const wasTruncated = this.#logBudget.isTruncated;
    if (wasTruncated || this.#logs.length >= MAX_LINES) return;
    const message = this.#logBudget.admit(event.message);
    if (message !== null) this.#line({ ...event, message });
    if (!this.#logBudget.isTruncated) return;
    const { logBytes } = this.#parts.limits.own;
    const text = `Log truncated: limit logBytes is ${logBytes} (option limits.logBytes of sandbox())`;
    this.#line({ ...event, level: 'warn', message: text });
  }

  #line(event: LogEvent): void {
    const { level, message, time } = event;
    this.#hold(LINE_BYTES + 2 * message.length);
    const line: RunLog = { level, message, time };
    this.#logs.push(line);
    this.#parts.context.emitLog(event);
    report(this.#options.onLog, line);
  }

  async #pause(record: RunRecord, code: string, { head, body }: ReturnType<typeof encodedInput>): Promise<RunResult> {
    try {
      if (body !== null && !(body instanceof Uint8Array))
        throw new EdgeError('EDGE_NOT_SUPPORTED', 'Cannot pause the run: its input has a stream');
      const bytes = body === null ? null : base64(body);
      const paused = await record.keep(code, { head, bytes });
      return { status: 'paused', paused, ...this.#outcome() };
    } catch (error) {
      return this.#failure(error);
    }
  }

  #outcome(): Pick<RunResult, 'id' | 'logs' | 'calls' | 'usage'> {
    this.#tools.over();
    const wallMs = rounded(performance.now() - this.#startedMs);
    const { id = '', usage = { cpuMs: 0, wallMs, memoryBytes: 0, egressBytes: 0 } } = this.#finished ?? {};
    return { id, logs: this.#logs, calls: this.#tools.calls, usage };
  }

  #failure(thrown: unknown): RunResult {
    const { aborted, reason } = this.#aborting.signal;
    const ended = toEdgeError(aborted ? reason : thrown);
    const error = (aborted ? undefined : this.#record?.divergence(ended.code)) ?? ended;
    // The code has failed because of a call that it could not make.
    const refused = [this.#tools.exceeded, ...this.#exceeded].find(limit => limit?.message === messageIn(error));
    const cause = refused ?? error;
    const status = aborted ? 'aborted' : isLimit(cause) ? 'limit' : 'failed';
    return { status, error: runError(cause, this.#subject), ...this.#outcome() };
  }
}
