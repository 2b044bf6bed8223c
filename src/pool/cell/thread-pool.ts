/**
 * The isolate threads of one process: a Piscina pool in which each task is a lease, with the watchdog that ends leases. Runs in a cell's main thread,
 * or in the host process with `isolation: 'thread'`.
 */
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Worker } from 'node:worker_threads';
import { Piscina } from 'piscina';
import { exitDetail } from '../../isolate/exit-codes.js';
import { monotonicMs, WatchBlock } from '../../isolate/metering/watch-block.js';
import type { IsolateLease } from '../../isolate/worker.js';
import { errorCode } from '../../quotas/errors.js';
import { guarded } from '../../quotas/guarded.js';
import type { ThreadPriority } from './thread-priority.js';
import { type KillFinding, type KillReason, Watchdog } from './watchdog.js';

/** Why a lease is over. */
export type LeaseEnd = KillReason | 'closed' | 'exit' | 'failed';

export interface ThreadPoolOptions {
  readonly maxThreads: number;
  readonly execArgv: readonly string[];
  /** Heap of one isolate. */
  readonly heapBytes: number;
  readonly cellMemoryBytes: number;
  readonly guestBundle?: string;
  readonly residentBytes: () => number | undefined;
  /** Lowers the priority of busy threads; undefined for threads of the application. */
  readonly priority?: ThreadPriority;
  readonly onEnd: (lease: number, end: LeaseEnd, detail: string) => void;
  /** A turn of the lease has become a long one, or a long turn is over. */
  readonly onLongTurn: (lease: number, isRunning: boolean) => void;
  /** The termination of a thread is overdue; with `isStuck` it is taken to never end. */
  readonly onTerminationOverdue: (isStuck: boolean) => void;
}

/** A thread that takes longer to end is inside native code. */
const OVERDUE_AFTER_MS = 500;
/** A native fill kept a thread busy for 1.1 s when measured; some native loops never end. */
const STUCK_AFTER_MS = 3000;

const MEBIBYTE = 1024 * 1024;

export class ThreadPool {
  readonly #pool: Piscina<IsolateLease, never>;
  readonly #options: ThreadPoolOptions;
  readonly #watchdog: Watchdog;
  readonly #running = new Map<number, { readonly controller: AbortController; readonly block: WatchBlock }>();
  readonly #ends = new Map<number, LeaseEnd>();
  /** Threads that are being terminated. */
  readonly #ending = new Set<Worker>();

  constructor(options: ThreadPoolOptions) {
    this.#options = options;
    this.#watchdog = new Watchdog({
      ...options,
      isEnding: () => this.#ending.size > 0,
      onFault: () => {
        for (const lease of this.#running.keys()) this.end(lease, 'failed');
      },
      priority: options.priority,
    });
    this.#pool = new Piscina<IsolateLease, never>({
      filename: fileURLToPath(new URL('../../isolate/worker.bundle.cjs', import.meta.url)),
      minThreads: 0,
      maxThreads: options.maxThreads,
      concurrentTasksPerWorker: 1,
      atomics: 'disabled',
      recordTiming: false,
      env: {},
      execArgv: [...options.execArgv],
      resourceLimits: {
        maxOldGenerationSizeMb: Math.ceil(options.heapBytes / MEBIBYTE),
        maxYoungGenerationSizeMb: 16,
        stackSizeMb: 4,
      },
    });
    // A thread that runs out of memory after its lease has ended fails no task. Without this listener its error would end this process.
    this.#pool.on('error', () => {});
  }

  get leases(): number {
    return this.#running.size;
  }

  start(lease: number, connection: IsolateLease['connection']): void {
    const block = new WatchBlock();
    const controller = new AbortController();
    this.#running.set(lease, { controller, block });
    let first: KillFinding | undefined;
    this.#watchdog.watch(lease, block, finding => {
      first ??= finding;
      this.end(lease, finding.reason);
    });
    const { guestBundle } = this.#options;
    const task: IsolateLease = { connection, watch: block.buffer, ...(guestBundle !== undefined && { guestBundle }) };
    const transferList = 'port' in connection ? [connection.port] : [];
    this.#pool.run(task, { signal: controller.signal, transferList }).catch((error: unknown) => {
      this.#running.delete(lease);
      this.#watchdog.forget(lease);
      const reason = this.#ends.get(lease);
      this.#ends.delete(lease);
      const message = error instanceof Error ? exitDetail(error.message) : '';
      this.#options.onEnd(lease, reason ?? endOf(error), `${usageLine(block, first)}${message}`);
    });
  }

  /** Terminates the thread. `onEnd` follows at once; the thread itself may take a moment, or never end. */
  end(lease: number, reason: LeaseEnd): void {
    const running = this.#running.get(lease);
    if (running === undefined || this.#ends.has(lease)) return;
    this.#ends.set(lease, reason);
    const before = this.#pool.threads;
    running.controller.abort();
    const left = new Set(this.#pool.threads);
    // Undefined if the lease had no thread yet.
    const thread = before.find(known => !left.has(known));
    if (thread === undefined) return;
    this.#options.priority?.abandon(running.block.thread);
    this.#awaitEnd(thread);
  }

  async close(): Promise<void> {
    for (const lease of this.#running.keys()) this.end(lease, 'closed');
    await this.#pool.destroy();
  }

  /** Resolves when every thread has ended. {@link close} does not wait for that: a stuck thread never ends. */
  async ended(): Promise<void> {
    await Promise.all([...this.#ending].map(thread => once(thread, 'exit')));
  }

  #awaitEnd(thread: Worker): void {
    this.#ending.add(thread);
    let timer = setTimeout(
      guarded(() => {
        this.#options.onTerminationOverdue(false);
        timer = setTimeout(
          guarded(() => this.#options.onTerminationOverdue(true)),
          STUCK_AFTER_MS - OVERDUE_AFTER_MS,
        ).unref();
      }),
      OVERDUE_AFTER_MS,
    ).unref();
    thread.once('exit', () => {
      this.#ending.delete(thread);
      clearTimeout(timer);
    });
  }
}

/**
 * The invocation that the isolate was ended for, the CPU milliseconds that it has used in all, and the bytes that the isolate held when last seen: "id ms
 * bytes\n". {@link parseUsage} reads it. The invocation comes from the watchdog's finding, since the turn may be over by now; without one, it is the invocation
 * in whose turn the thread has ended.
 */
function usageLine(block: WatchBlock, finding: KillFinding | undefined): string {
  if (finding === undefined && !block.isInTurn) return '';
  // The watchdog has read the thread's clock; without it wall time is used.
  const cpuMs = finding?.cpuMs ?? block.usedMs + (block.isInTurn ? Math.max(0, monotonicMs() - block.startedMs) : 0);
  return `${finding?.invocation ?? block.invocation} ${cpuMs.toFixed(3)} ${Math.round(block.memoryBytes)}\n`;
}

function endOf(error: unknown): LeaseEnd {
  const code = errorCode(error);
  if (code === 'ERR_WORKER_OUT_OF_MEMORY') return 'memory';
  return error instanceof Error && /exit/i.test(error.message) ? 'exit' : 'failed';
}
