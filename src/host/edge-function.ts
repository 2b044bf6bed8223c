/** A loaded function. */
import { HostOpens } from '../protocol/messages.js';
import { createBatch, type QueueMessage, type QueueOutcome, readOutcome } from './events/queue-batch.js';
import { fetchInput, fetchThrough } from './ingress/fetch-adapter.js';
import type { FunctionRunner } from './invocation/function-runner.js';
import type { FunctionStats, FunctionStatsSnapshot } from './invocation/function-stats.js';
import { checkTimeoutMs } from './invocation/invocation-start.js';
import { runToEnd } from './invocation/run-to-end.js';

/** What `EdgeFunction.fetch` takes beside a request. */
export interface FunctionFetchInit extends RequestInit {
  /**
   * How long to wait for the answer and all of its body, in milliseconds from the call on, the start of the function included: from 1 on, or Infinity.
   * What waitUntil holds goes on. @default Infinity
   */
  readonly timeoutMs?: number;
}

export class EdgeFunction {
  readonly name: string;
  readonly account: string;
  /** A hash of the deployed modules: the same source has the same version. */
  readonly version: string;
  readonly #runner: FunctionRunner;
  readonly #stats: FunctionStats;
  readonly #unload: () => void;

  /** Functions are made by `host.load()` and `account.load()`. */
  constructor(runner: FunctionRunner, stats: FunctionStats, unload: () => void) {
    this.#runner = runner;
    this.#stats = stats;
    this.#unload = unload;
    this.name = runner.context.function;
    this.account = runner.context.account;
    this.version = runner.context.version;
  }

  /** Milliseconds that parsing and the global scope took at the last start. */
  get startupTimeMs(): number {
    return this.#runner.startupTimeMs;
  }

  /** Events that the function handles: 'fetch', 'scheduled', 'queue', 'alarm'. */
  get handlers(): readonly string[] {
    return this.#runner.handlers;
  }

  /**
   * Answers a request. The response's body is a stream, and so may the request's be; `signal`, of the request or of `init`, cancels.
   * Rejects with EdgeError: EDGE_HANDLER_THREW, EDGE_NO_RESPONSE, EDGE_HANDLER_STALLED, EDGE_CPU_LIMIT, EDGE_MEMORY_LIMIT,
   * EDGE_WALL_TIME_LIMIT (after `timeoutMs`, `limits.wallMs`, or `idleHttpMs` of the host), EDGE_ISOLATE_LOST,
   * EDGE_CELL_LOST, EDGE_OVERLOADED, EDGE_CLOSED and the codes of loading, when the function had to be started again.
   * With TypeError or RangeError for a `timeoutMs` that is none.
   */
  fetch(input: Request | string | URL, init?: FunctionFetchInit): Promise<Response> {
    // Not async: a promise that is handed on by a second one settles three microtasks later.
    try {
      return fetchThrough(this.#runner, fetchInput(input, init), 'fail-closed', checkTimeoutMs(init?.timeoutMs));
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** Runs the function's scheduled handler, waitUntil included. Rejects like `fetch`, and with EDGE_CANCELED when waitUntil takes longer than `waitUntilMs`. */
  async scheduled(options: { readonly cron?: string; readonly scheduledTime?: Date } = {}): Promise<void> {
    const time = options.scheduledTime ?? new Date();
    await runToEnd(this.#runner, HostOpens.Scheduled, `${time.getTime()}\n${options.cron ?? ''}`);
  }

  /**
   * Runs the function's alarm handler, waitUntil included. Keeping alarms, and waking for them, is the caller's.
   * @param options.scheduledTime what the alarm was set for. @default now
   * @param options.retryCount deliveries before this one. @default 0
   *
   * Rejects with RangeError for a time or a count that is none, and like `scheduled`; EDGE_WALL_TIME_LIMIT after `wallMs`.
   */
  async alarm(options: { readonly scheduledTime?: Date; readonly retryCount?: number } = {}): Promise<void> {
    const { scheduledTime = new Date(), retryCount = 0 } = options;
    if (Number.isNaN(scheduledTime.getTime()) || !Number.isSafeInteger(retryCount) || retryCount < 0) {
      throw new RangeError(
        `Cannot run the alarm of function "${this.name}": scheduledTime is ${scheduledTime}, retryCount is ${retryCount}, expected a Date and a count from 0 on`,
      );
    }
    await runToEnd(this.#runner, HostOpens.Alarm, `${scheduledTime.getTime()}\n${retryCount}`);
  }

  /**
   * Delivers a batch of 1 to 100 messages, 1 MiB of JSON at most, to the function's queue handler. Answers when the handler
   * has, with what is to be delivered again; storing and delivering messages is the caller's. When the handler throws, none of
   * the batch is done.
   *
   * Rejects with TypeError or RangeError for a batch that is none, and like `fetch`.
   */
  async queue(queueName: string, messages: readonly QueueMessage[]): Promise<QueueOutcome> {
    const batch = createBatch(queueName, messages);
    return readOutcome(batch, await runToEnd(this.#runner, HostOpens.Queue, batch.head));
  }

  /** Figures since loading. */
  stats(): FunctionStatsSnapshot {
    return this.#stats.snapshot();
  }

  /** Takes the function off the host: no new requests; what runs goes on to its end. */
  unload(): void {
    this.#unload();
  }
}
