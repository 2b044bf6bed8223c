/**
 * Ends isolates whose turn exceeds its CPU budget, or whose memory exceeds its limit. Runs in a thread that guest code never blocks, while
 * isolates have turns: when there was none for a second it sleeps, and the next turn wakes it.
 */
import { clockMs } from '../../isolate/metering/thread-clock.js';
import { monotonicMs, type WatchBlock } from '../../isolate/metering/watch-block.js';
import { guarded } from '../../quotas/guarded.js';
import type { ThreadPriority } from './thread-priority.js';

export type KillReason = 'cpu' | 'startup' | 'memory';

const POLL_MS = 10;
/** Polling interval while no isolate is inside a turn: the longest time for which a turn can be missed. */
const IDLE_POLL_MS = 25;
/** After this many polls without a turn it polls no more, and is woken by the next turn. A thousand idle cells must cost next to nothing. */
const QUIET_POLLS = 40;
/** Turns that take longer are reported to the host: if the process aborts, the turn counts as the cause. */
const LONG_TURN_MS = 30;

/** A cell whose memory stays above its ceiling for longer is drained and replaced by the host. */
const TOLERATED_MS = 5000;
const TOLERATED_GROWTH_BYTES = 128 * 1024 * 1024;

/** The invocation that an isolate is ended for, and its usage as far as the watchdog knows. */
export interface KillFinding {
  readonly reason: KillReason;
  /** The invocation that caused it, which may be over; 0 for none. */
  readonly invocation: number;
  /** CPU milliseconds that it has used, if that is the reason. */
  readonly cpuMs?: number;
}

interface Watched {
  readonly block: WatchBlock;
  readonly end: (finding: KillFinding) => void;
  /** The sequence at the last poll. */
  polledSequence: number;
  /** The turn that was last seen while it ran, and the thread's CPU time then. */
  seenSequence: number;
  clockAtFirstSight: number;
  wallAtFirstSight: number;
  /** The turn was reported by `onLongTurn`. */
  isLong: boolean;
  isLowered: boolean;
}

export interface WatchdogOptions {
  /** Resident bytes of this process beyond which the isolate inside a turn is ended. */
  readonly cellMemoryBytes: number;
  /** Undefined where the system does not say: the limits of each isolate hold there, and this one does not. */
  readonly residentBytes: () => number | undefined;
  /** Whether a thread is being terminated: growth of memory is then attributed to it. */
  readonly isEnding: () => boolean;
  /** Lowers the priority of busy threads; undefined for threads of the application. */
  readonly priority: ThreadPriority | undefined;
  /** A turn of the lease has become a long one, or a long turn is over. */
  readonly onLongTurn: (lease: number, isRunning: boolean) => void;
  /** The watch has failed. Every isolate must end, because no limit would end it any more. */
  readonly onFault: () => void;
}

export class Watchdog {
  readonly #watched = new Map<number, Watched>();
  readonly #options: WatchdogOptions;
  #timer: NodeJS.Timeout | undefined;
  #toleratedBytes = 0;
  #toleratedUntilMs = 0;
  /** Polls without a turn, one after the other. */
  #quietPolls = 0;
  #isAsleep = false;
  readonly #wake = (): void => {
    if (!this.#isAsleep) return;
    this.#isAsleep = false;
    this.#quietPolls = 0;
    for (const { block } of this.#watched.values()) block.wake();
    if (this.#watched.size > 0) this.#schedule(POLL_MS);
  };

  constructor(options: WatchdogOptions) {
    this.#options = options;
  }

  watch(lease: number, block: WatchBlock, end: (finding: KillFinding) => void): void {
    this.#watched.set(lease, {
      block,
      end,
      polledSequence: block.sequence,
      seenSequence: 0,
      clockAtFirstSight: 0,
      wallAtFirstSight: 0,
      isLong: false,
      isLowered: false,
    });
    this.#wake();
    this.#schedule(IDLE_POLL_MS);
  }

  forget(lease: number): void {
    this.#watched.get(lease)?.block.wake();
    this.#watched.delete(lease);
    if (this.#watched.size > 0) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #schedule(delayMs: number): void {
    this.#timer ??= setTimeout(
      guarded(
        () => {
          this.#timer = undefined;
          const isBusy = this.poll();
          if (this.#watched.size === 0) return;
          if (this.#quietPolls < QUIET_POLLS) this.#schedule(isBusy ? POLL_MS : IDLE_POLL_MS);
          else this.#sleep();
        },
        () => this.#options.onFault(),
      ),
      delayMs,
    );
  }

  #sleep(): void {
    this.#isAsleep = true;
    for (const { block, polledSequence } of this.#watched.values()) {
      if (block.sleep(polledSequence, this.#wake)) continue;
      this.#wake();
      return;
    }
  }

  /** Checks every isolate; returns whether one was inside a turn. Called by the watchdog's own timer. */
  poll(): boolean {
    let isBusy = false;
    this.#quietPolls++;
    for (const [lease, watched] of this.#watched) {
      const { sequence } = watched.block;
      if (sequence !== watched.polledSequence) this.#quietPolls = 0;
      watched.polledSequence = sequence;
      if (sequence !== watched.seenSequence) this.#turnIsOver(lease, watched);
      if (watched.block.isOverMemory) watched.end({ reason: 'memory', invocation: watched.block.memoryTaker });
      else if (watched.block.isInTurn) {
        isBusy = true;
        this.#quietPolls = 0;
        this.#checkTurn(lease, watched);
      }
    }
    if (isBusy) this.#checkCell();
    return isBusy;
  }

  /** After an isolate was ended, its memory takes a moment to be freed; only growth beyond that ends another one. */
  #checkCell(): void {
    const resident = this.#options.residentBytes();
    if (resident === undefined) return;
    const now = monotonicMs();
    if (now > this.#toleratedUntilMs) this.#toleratedBytes = 0;
    if (resident <= Math.max(this.#options.cellMemoryBytes, this.#toleratedBytes)) return;
    this.#toleratedBytes = resident + TOLERATED_GROWTH_BYTES;
    this.#toleratedUntilMs = now + TOLERATED_MS;
    // If it grows on, the host ends the cell, at its hard ceiling or because the thread is stuck.
    if (!this.#options.isEnding()) this.#endLargest();
  }

  #checkTurn(lease: number, watched: Watched): void {
    const { block } = watched;
    const { sequence, startedMs } = block;
    const cpuMs = clockMs(block.clock);
    const nowMs = monotonicMs();
    if (sequence !== watched.seenSequence) {
      watched.seenSequence = sequence;
      watched.clockAtFirstSight = cpuMs ?? 0;
      watched.wallAtFirstSight = nowMs;
    }
    if (!watched.isLong && nowMs - watched.wallAtFirstSight >= LONG_TURN_MS) this.#setLong(lease, watched, true);
    // Before it was first seen the turn cannot have used more CPU time than the thread; from then on the thread's clock is used.
    const wallBeforeMs = Math.max(0, watched.wallAtFirstSight - startedMs);
    const beforeMs =
      cpuMs === undefined
        ? wallBeforeMs
        : Math.min(wallBeforeMs, Math.max(0, watched.clockAtFirstSight - block.clockMs));
    const sinceMs = cpuMs === undefined ? nowMs - watched.wallAtFirstSight : cpuMs - watched.clockAtFirstSight;
    const usedMs = beforeMs + sinceMs;
    const { priority } = this.#options;
    // Not during the start-up, which every function has once: on some systems a lowered priority stays low.
    if (!watched.isLowered && priority !== undefined && usedMs >= priority.afterMs && !block.isStarting) {
      watched.isLowered = true;
      priority.lower(block.thread);
    }
    if (usedMs <= block.budgetMs) return;
    const { invocation } = block;
    const reason = block.isStarting ? 'startup' : 'cpu';
    const spentMs = block.usedMs + usedMs;
    // The turn may have ended in the meantime, and the values belong to the next one.
    if (block.sequence === sequence) watched.end({ reason, invocation, cpuMs: spentMs });
  }

  #turnIsOver(lease: number, watched: Watched): void {
    if (watched.isLong) this.#setLong(lease, watched, false);
    if (watched.isLowered) this.#options.priority?.raise(watched.block.thread);
    watched.isLowered = false;
  }

  #setLong(lease: number, watched: Watched, isLong: boolean): void {
    watched.isLong = isLong;
    this.#options.onLongTurn(lease, isLong);
  }

  /** Ends the likeliest cause: the isolate inside a turn that held most memory at the end of its last turn. */
  #endLargest(): void {
    let largest: Watched | undefined;
    for (const watched of this.#watched.values()) {
      if (!watched.block.isInTurn) continue;
      if (largest === undefined || watched.block.memoryBytes > largest.block.memoryBytes) largest = watched;
    }
    largest?.end({ reason: 'memory', invocation: largest.block.invocation });
  }
}
