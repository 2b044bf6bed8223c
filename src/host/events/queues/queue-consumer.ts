/**
 * Delivers the messages of one queue to a function. It waits in the queue itself, without a timer; handles batches at the same time as far as it may; and
 * after failures it waits a while, longer each time, so that a function that always fails costs little.
 */
import type { ClaimedMessage, QueueDirectory, QueueEngine, SettleRequest } from '../../../bindings/queue/broker.js';
import { QUEUE_LIMITS } from '../../../bindings/queue/limits.js';
import type { ResolvedConsumer } from '../../../config-schema/consumer-shapes.js';
import { withoutCaller } from '../../../quotas/caller-context.js';
import { errorCode } from '../../../quotas/errors.js';
import { guarded } from '../../../quotas/guarded.js';
import type { CallWork } from '../../../quotas/host/call-work.js';
import type { FunctionRunner } from '../../invocation/function-runner.js';
import { claimedBatch, deliverBatch } from './deliver-batch.js';

export interface ConsumerParts {
  readonly settings: ResolvedConsumer;
  /** The queues of the account. */
  readonly directory: QueueDirectory;
  /** The serving version of the function. @throws EdgeError when no version serves */
  readonly runner: () => FunctionRunner;
  /** Pays for the host's work. */
  readonly work: CallWork;
  /** The account may hold one more batch: what it holds already takes less than half of its bytes. */
  readonly hasRoom: () => boolean;
  readonly warn: (error: unknown) => void;
  /** Whether what ends now ends with the host or the account. */
  readonly isClosing: () => boolean;
}

/** Batches at the same time where the owner names no number. */
const USUAL_MOST = 20;

/** Batches whose outcome is being written while the handler has others. */
const MOST_SETTLING = 4;

/** The first wait after a failure, and the longest. */
const FIRST_WAIT_MS = 50;
const LONGEST_WAIT_MS = 30_000;

/** How long a consumer waits for room when none of its batches makes some. */
const NO_ROOM_MS = 100;

/** How long after the limit of the handler's wall-clock time a message is delivered again when its outcome never came. */
const LEASE_RESERVE_MS = 60_000;

/** Errors by which nothing was attempted: the messages go back as they were. */
const NOT_ATTEMPTED: ReadonlySet<string> = new Set([
  'EDGE_OVERLOADED',
  'EDGE_DESCRIPTOR_LIMIT',
  'EDGE_TASK_LIMIT',
  'EDGE_CLOSED',
  'EDGE_FUNCTION_UNLOADED',
  'EDGE_ACCOUNT_REMOVED',
]);

/** Errors that mean a lost isolate, but only while the host itself ends it. */
const ENDED_BY_CLOSING: ReadonlySet<string> = new Set(['EDGE_ISOLATE_LOST', 'EDGE_CELL_LOST', 'EDGE_CANCELED']);

export class QueueConsumer {
  readonly #parts: ConsumerParts;
  readonly #stopped = new AbortController();
  readonly #running: Promise<void>;
  /** Batches whose outcome is not on disk yet. */
  readonly #deliveries = new Set<Promise<void>>();
  /** The number of these batches that the handler has. */
  #handled = 0;
  #whenFree: (() => void) | undefined;
  /** Batches that may be handled at the same time now. */
  #most: number;
  #failures = 0;

  constructor(parts: ConsumerParts) {
    this.#parts = parts;
    this.#most = parts.settings.maxConcurrency ?? 1;
    this.#running = this.#run();
  }

  /** Receives nothing more. Open batches run to their end. */
  stop(): void {
    this.#stopped.abort();
    this.#whenFree?.();
  }

  /** Resolves when it was stopped, and the outcomes of its open batches are on disk. */
  async ended(): Promise<void> {
    await this.#running;
    await Promise.all(this.#deliveries);
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      if (this.#handled >= this.#most || this.#deliveries.size >= this.#most + MOST_SETTLING) {
        await new Promise<void>(resolve => {
          this.#whenFree = resolve;
        });
        continue;
      }
      if (this.#failures > 0) await wait(waitMs(this.#failures), signal);
      while (!this.#parts.hasRoom() && !signal.aborted) await wait(NO_ROOM_MS, signal);
      if (signal.aborted) return;
      try {
        await this.#parts.work.turn();
        await this.#receive(signal);
      } catch (error) {
        if (signal.aborted || this.#parts.isClosing()) return;
        this.#failures++;
        this.#warn(error);
      }
    }
  }

  async #receive(signal: AbortSignal): Promise<void> {
    const { settings, directory } = this.#parts;
    const queue = await directory.open(settings.queue);
    const messages = await queue.receive({
      maxMessages: settings.maxBatchSize,
      maxBytes: QUEUE_LIMITS.batchBytes,
      maxWaitMs: settings.maxBatchTimeoutSeconds * 1000,
      leaseMs: this.#leaseMs(),
      signal,
    });
    this.#handled++;
    const delivery = this.#deliver(queue, messages).finally(() => {
      this.#deliveries.delete(delivery);
      this.#whenFree?.();
    });
    this.#deliveries.add(delivery);
    // A batch that is full is one of several.
    const { maxConcurrency } = settings;
    if (maxConcurrency === undefined && messages.length === settings.maxBatchSize && this.#failures === 0)
      this.#most = Math.min(USUAL_MOST, this.#most + 1);
  }

  #leaseMs(): number {
    let wallMs = Number.POSITIVE_INFINITY;
    try {
      wallMs = this.#parts.runner().context.limits.wallMs.queue;
    } catch {
      // There is no version now; the delivery says so.
    }
    return Math.min(wallMs + LEASE_RESERVE_MS, QUEUE_LIMITS.leaseMs);
  }

  /** Never rejects. */
  async #deliver(queue: QueueEngine, messages: readonly ClaimedMessage[]): Promise<void> {
    const { settings, runner, work } = this.#parts;
    let isHandled = false;
    // The bodies, and the head of the event that they are written to.
    const heldBytes = 2 * messages.reduce((sum, { body }) => sum + body.byteLength, 0);
    work.countBytes(heldBytes);
    try {
      const batch = claimedBatch(settings.queue, messages, await queue.backlog());
      const { retries, error } = await withoutCaller(() => deliverBatch(runner, batch));
      isHandled = true;
      this.#noteHandled();
      this.#count(retries.length < messages.length, error);
      await queue.settle(this.#settlement(messages, retries, error), work);
    } catch (error) {
      if (!isHandled) this.#noteHandled();
      // The claims are over: the messages are delivered again.
      if (this.#parts.isClosing()) return;
      this.#failures++;
      this.#warn(error);
    } finally {
      work.countBytes(-heldBytes);
    }
  }

  /** The end of the backend process is one warning of the host. */
  #warn(error: unknown): void {
    if (errorCode(error) !== 'EDGE_SERVICES_LOST') this.#parts.warn(error);
  }

  /** The handler takes the next batch while the outcome of this one is written. */
  #noteHandled(): void {
    this.#handled--;
    this.#whenFree?.();
  }

  #settlement(
    messages: readonly ClaimedMessage[],
    retries: readonly { readonly id: string; readonly delaySeconds: number | undefined }[],
    error: unknown,
  ): SettleRequest {
    const { maxRetries, deadLetterQueue, retryDelaySeconds } = this.#parts.settings;
    const again = new Map(retries.map(({ id, delaySeconds }) => [id, delaySeconds]));
    const acks = messages.flatMap(({ id, leaseId }) => (again.has(id) ? [] : [leaseId]));
    const rest = messages.filter(({ id }) => again.has(id));
    if (this.#isUnattempted(error)) return { acks, releases: rest.map(({ leaseId }) => leaseId) };
    const delayed = rest.map(({ id, leaseId }) => ({
      leaseId,
      delayMs: (again.get(id) ?? retryDelaySeconds) * 1000,
    }));
    return { acks, retries: delayed, maxRetries, deadLetterQueue };
  }

  #isUnattempted(error: unknown): boolean {
    const code = String(errorCode(error));
    return NOT_ATTEMPTED.has(code) || (ENDED_BY_CLOSING.has(code) && this.#parts.isClosing());
  }

  #count(isPartlyDone: boolean, error: unknown): void {
    if (isPartlyDone || error === undefined) {
      this.#failures = 0;
      return;
    }
    this.#failures++;
    if (this.#parts.settings.maxConcurrency === undefined) this.#most = Math.max(1, this.#most >> 1);
  }
}

/** Twice as long each time, less up to a half by chance: consumers that failed together do not come back together. */
function waitMs(failures: number): number {
  const most = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (failures - 1));
  return most * (1 - Math.random() / 2);
}

/** Resolves also when the signal fires. Keeps no process alive. */
function wait(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise(resolve => {
    const timer = setTimeout(
      guarded(() => {
        signal.removeEventListener('abort', stop);
        resolve();
      }),
      ms,
    );
    timer.unref();
    const stop = (): void => {
      clearTimeout(timer);
      resolve();
    };
    signal.addEventListener('abort', stop, { once: true });
  });
}
