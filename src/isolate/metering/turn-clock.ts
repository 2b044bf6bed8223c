/**
 * The CPU time of turns. The wall time of a short turn stands for its CPU time; for a longer one the thread's own clock is read, so that contention on the
 * machine is not charged to the function.
 */
import { threadCpuMs } from './thread-clock.js';

/** A bound function takes a fifth less time; it is called twice a turn. */
export const now = performance.now.bind(performance);
/** Turns longer than this are measured by the thread's clock. */
export const LONG_TURN_MS = 1;
/** The thread's clock is read again at the start of a turn after this time. A reading takes 3 us on Node 20. */
const CLOCK_EVERY_MS = 1;

export class TurnClock {
  /** When the turn began. */
  startedMs = 0;
  /** The last reading of the thread's clock, its time, and the wall time of short turns since. */
  #clockMs = threadCpuMs();
  #askedMs = now();
  #wallSinceMs = 0;

  /**
   * A turn begins. Returns about what the thread's clock shows. An older reading would not distinguish the time that a turn waits on a busy
   * machine from the work of the host realm since then.
   */
  begin(): number | undefined {
    this.startedMs = now();
    if (this.startedMs - this.#askedMs > CLOCK_EVERY_MS) this.#ask();
    return this.#clockMs === undefined ? undefined : this.#clockMs + this.#wallSinceMs;
  }

  /** A turn, or function code behind it, has just ended. Returns its CPU time. */
  end(wallMs: number): number {
    if (wallMs <= LONG_TURN_MS) {
      this.#wallSinceMs += wallMs;
      return wallMs;
    }
    const clockMs = threadCpuMs();
    const usedMs = this.#cpuOf(wallMs, clockMs);
    this.#ask(clockMs);
    return usedMs;
  }

  /** CPU time of the turn that is running. */
  runningMs(wallMs: number): number {
    return this.#cpuOf(wallMs, threadCpuMs());
  }

  /** Excludes the CPU time since the last turn from all accounting. */
  skip(): void {
    this.#clockMs = threadCpuMs();
    this.#wallSinceMs = 0;
  }

  /** The clock's advance less the time used before the turn and up to the last measurement. */
  #cpuOf(wallMs: number, clockMs: number | undefined): number {
    if (clockMs === undefined || this.#clockMs === undefined) return wallMs;
    return Math.min(wallMs, Math.max(0, clockMs - this.#clockMs - this.#wallSinceMs));
  }

  #ask(clockMs = threadCpuMs()): void {
    this.#clockMs = clockMs;
    this.#askedMs = now();
    this.#wallSinceMs = 0;
  }
}
