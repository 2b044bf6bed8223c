/** The handle of a function: it follows the function's name from version to version. */
import { HostOpens } from '../protocol/messages.js';
import { createBatch, outcomeOf, type QueueMessage, type QueueOutcome } from './events/queue-batch.js';
import { deliverBatch } from './events/queues/deliver-batch.js';
import { type FunctionSlot, rememberSlot } from './function-slot.js';
import { fetchThrough } from './ingress/fetch-adapter.js';
import { type FetchInput, fetchInput } from './ingress/fetch-input.js';
import { withCf, withProps } from './ingress/props.js';
import type { FunctionStatsSnapshot } from './invocation/function-stats.js';
import { checkTimeoutMs } from './invocation/invocation-start.js';
import { runScheduled, type ScheduledRun } from './invocation/run-scheduled.js';
import { runToEnd } from './invocation/run-to-end.js';
import { type ApplicationObjects, applicationObjects } from './objects/application-objects.js';
import type { ObjectRules } from './objects/object-runner.js';
import { type FunctionRpc, functionRpc, type RpcOptions } from './rpc/application-rpc.js';

/** The options of `fn.fetch()` beside the request. */
export interface FunctionFetchOptions extends RequestInit {
  /** The value of `ctx.props` for the handler, and of `context.props` for callbacks: a JSON object of up to 64 KiB. @default the props of load() */
  readonly props?: Readonly<Record<string, unknown>>;
  /**
   * Facts about the request, such as the visitor's country, which the function finds in `request.cf` beside those that the host knows itself: a JSON object of
   * up to 16 KiB. @default none
   */
  readonly cf?: Readonly<Record<string, unknown>>;
  /**
   * How long to wait for the answer and all of its body, in milliseconds from the call on, the start of the function included: from 1 on, or Infinity.
   * Work given to waitUntil continues. @default Infinity
   */
  readonly timeoutMs?: number;
}

export class EdgeFunction {
  readonly name: string;
  readonly account: string;
  readonly #slot: FunctionSlot;
  readonly #unload: () => void;
  readonly #objects: ObjectRules;
  #rpc: FunctionRpc | undefined;

  /** Functions are made by `host.load()` and `account.load()`. */
  constructor(slot: FunctionSlot, unload: () => void, objects: ObjectRules) {
    this.#slot = slot;
    this.#objects = objects;
    this.#unload = unload;
    this.name = slot.name;
    this.account = slot.account;
    rememberSlot(this, slot);
  }

  /** A hash of the deployed modules: the same source has the same version. */
  get version(): string {
    return this.#slot.details.version;
  }

  /** Milliseconds that parsing and the global scope took at the last start. */
  get startupTimeMs(): number {
    return this.#slot.details.startupTimeMs;
  }

  /** Events that the function handles: 'fetch', 'scheduled', 'queue', 'alarm', 'tail'. */
  get handlers(): readonly string[] {
    return this.#slot.details.handlers;
  }

  /**
   * Answers a request. The response's body is a stream, and so may the request's be; `signal`, of the request or of `init`, cancels. `init` has the
   * options of `new Request()`, and `props` and `timeoutMs`. Rejects with EdgeError:
   * - the function has failed: EDGE_HANDLER_THREW, EDGE_NO_RESPONSE, EDGE_HANDLER_STALLED;
   * - a limit was passed: EDGE_CPU_LIMIT, EDGE_MEMORY_LIMIT, EDGE_TIMEOUT (after `timeoutMs`), EDGE_WALL_TIME_LIMIT (after `limits.wallMs`, or `idleHttpMs`
   *   of the host), EDGE_OVERLOADED;
   * - the isolate or its process has ended: EDGE_ISOLATE_LOST, EDGE_CELL_LOST;
   * - it is not there any more: EDGE_FUNCTION_UNLOADED, EDGE_CLOSED;
   * - the codes of loading, when the function had to be started again.
   *
   * Rejects with TypeError or RangeError for an invalid `timeoutMs`.
   */
  fetch(input: Request | string | URL, init?: FunctionFetchOptions): Promise<Response> {
    // Not async: a promise that is handed on by a second one settles three microtasks later.
    try {
      return fetchThrough(this.#slot.runner, requestOf(input, init), 'fail-closed', checkTimeoutMs(init?.timeoutMs));
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /**
   * Runs the function's scheduled handler now, waitUntil included: it needs no cron trigger, and claims no time of one.
   * @param options.cron the handler's `controller.cron`. @default ''
   * @param options.scheduledTime the handler's `controller.scheduledTime`. @default now
   *
   * Rejects with TypeError for an invalid cron or time, and like `fetch`, also when a promise of waitUntil is rejected. Rejects with EDGE_WALL_TIME_LIMIT
   * when all of it takes longer than `wallMs`.
   */
  async scheduled(
    options: { readonly cron?: string; readonly scheduledTime?: Date } = {},
  ): Promise<{ readonly noRetry: boolean }> {
    const { error, noRetry } = await this.tryScheduled(options);
    if (error !== undefined) throw error;
    return { noRetry };
  }

  /**
   * The same as {@link scheduled}, but a run that fails is an answer.
   * @internal
   */
  async tryScheduled(options: { readonly cron?: string; readonly scheduledTime?: Date }): Promise<ScheduledRun> {
    const { cron = '', scheduledTime = new Date() } = options;
    if (typeof cron !== 'string' || cron.includes('\n') || Number.isNaN(scheduledTime.getTime())) {
      throw new TypeError(
        `Cannot run the scheduled handler of function "${this.name}": cron is ${JSON.stringify(cron)}, scheduledTime is ${scheduledTime}, expected a text of one line and a Date`,
      );
    }
    return runScheduled(this.#slot.runner, cron, scheduledTime.getTime());
  }

  /**
   * Runs the function's alarm handler, waitUntil included. Keeping alarms, and waking for them, is the caller's.
   * @param options.scheduledTime what the alarm was set for. @default now
   * @param options.retryCount deliveries before this one. @default 0
   *
   * Rejects with RangeError for an invalid time or count, and like `scheduled`; EDGE_WALL_TIME_LIMIT after `wallMs`.
   */
  async alarm(options: { readonly scheduledTime?: Date; readonly retryCount?: number } = {}): Promise<void> {
    const { scheduledTime = new Date(), retryCount = 0 } = options;
    if (Number.isNaN(scheduledTime.getTime()) || !Number.isSafeInteger(retryCount) || retryCount < 0) {
      throw new RangeError(
        `Cannot run the alarm of function "${this.name}": scheduledTime is ${scheduledTime}, retryCount is ${retryCount}, expected a Date and a count from 0 on`,
      );
    }
    await runToEnd(this.#slot.runner, HostOpens.Alarm, `${scheduledTime.getTime()}\n${retryCount}`);
  }

  /**
   * Delivers a batch of 1 to 100 messages, 1 MiB of JSON at most, to the function's queue handler. Resolves when the handler and all work given to
   * waitUntil are done, with the messages that are to be retried. The caller stores and delivers messages; the host delivers messages of its own queues
   * (`consumers` of load()). Rejects when the handler throws or a promise of waitUntil is rejected.
   *
   * Rejects with TypeError or RangeError for an invalid batch, and like `fetch`.
   */
  async queue(queueName: string, messages: readonly QueueMessage[]): Promise<QueueOutcome> {
    const batch = createBatch(queueName, messages);
    const { retries, error } = await deliverBatch(() => this.#slot.runner, batch);
    if (error !== undefined) throw error;
    return outcomeOf(retries);
  }

  /**
   * The methods of the function's default export, a class that extends FunctionEntrypoint: `await fn.rpc.lookup(7)`, and its properties: `await
   * fn.rpc.version`. Arguments and results are copies, of what callbacks take; functions and `RpcTarget`s in a result are stubs, which the
   * function keeps until `[Symbol.dispose]()` of all of them was called. Rejects like `fetch`, and with TypeError or RangeError for what cannot be passed.
   */
  get rpc(): FunctionRpc {
    this.#rpc ??= this.rpcTo();
    return this.#rpc;
  }

  /** The methods of an entrypoint, with props of its own. */
  rpcTo(options?: RpcOptions): FunctionRpc {
    return functionRpc(() => this.#slot.runner, options);
  }

  /**
   * The stateful objects of a class that the function exports: `fn.objects('ChatRoom').getByName('lobby').rpc.join('ann')`. The same objects that functions
   * reach by the option `objects` of load().
   *
   * @throws TypeError for a value that cannot be the name of an export
   */
  objects(className: string): ApplicationObjects {
    const { account, name: functionName } = this;
    return applicationObjects(
      { account, functionName, runner: () => this.#slot.runner, rules: this.#objects },
      className,
    );
  }

  /** Statistics since this version was loaded. */
  stats(): FunctionStatsSnapshot {
    return this.#slot.details.stats.snapshot();
  }

  /**
   * Takes the function off the host: new requests are refused (EDGE_FUNCTION_UNLOADED), and running ones continue to their end. When a function is loaded
   * again under its name, its handles work again.
   */
  unload(): void {
    this.#unload();
  }
}

function requestOf(input: Request | string | URL, init: FunctionFetchOptions | undefined): FetchInput {
  if (init?.props === undefined && init?.cf === undefined) return fetchInput(input, init);
  const { props, cf, ...rest } = init;
  let request = fetchInput(input, Object.keys(rest).length === 0 ? undefined : rest);
  if (cf !== undefined) request = withCf(request, cf);
  return props === undefined ? request : withProps(request, props);
}
