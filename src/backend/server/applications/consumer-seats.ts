/**
 * Decides which application consumes a queue: one at a time, so that the bounds of its consumer hold for all of them. The first one that receives has the seat;
 * the seat is free when that one has had nothing open for a moment, or is gone. The others wait for it.
 */
import { guarded } from '../../../quotas/guarded.js';

/** Between two batches of a consumer: longer than the way there and back. */
const FREE_AFTER_MS = 1000;

interface Waiting {
  readonly owner: object;
  readonly enter: () => void;
}

interface Seat {
  owner: object;
  /** Receives that wait, and batches that are being handled. */
  uses: number;
  timer: NodeJS.Timeout | undefined;
  readonly waiting: Waiting[];
}

export class ConsumerSeats {
  readonly #seats = new Map<string, Seat>();

  /** Resolves when `owner` has the seat, which it uses until `leave`. Rejects with the reason of the signal. */
  enter(queue: string, owner: object, signal: AbortSignal): Promise<void> {
    const seat = this.#seats.get(queue);
    if (seat === undefined || seat.owner === owner) {
      this.use(queue, owner);
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      const stop = guarded((): void => {
        seat.waiting.splice(seat.waiting.indexOf(waiting), 1);
        reject(signal.reason);
      });
      const waiting = {
        owner,
        enter: () => {
          signal.removeEventListener('abort', stop);
          resolve();
        },
      };
      seat.waiting.push(waiting);
      signal.addEventListener('abort', stop, { once: true });
    });
  }

  /** One more use of a seat that `owner` has, or that is free. */
  use(queue: string, owner: object): void {
    const seat = this.#seats.get(queue) ?? { owner, uses: 0, timer: undefined, waiting: [] };
    this.#seats.set(queue, seat);
    clearTimeout(seat.timer);
    seat.timer = undefined;
    seat.uses++;
  }

  leave(queue: string, owner: object): void {
    const seat = this.#seats.get(queue);
    if (seat?.owner !== owner || --seat.uses > 0) return;
    seat.timer = setTimeout(
      guarded(() => this.#pass(queue, seat)),
      FREE_AFTER_MS,
    ).unref();
  }

  /** The owner is gone. */
  drop(owner: object): void {
    for (const [queue, seat] of this.#seats) if (seat.owner === owner) this.#pass(queue, seat);
  }

  #pass(queue: string, seat: Seat): void {
    clearTimeout(seat.timer);
    seat.timer = undefined;
    const [next] = seat.waiting;
    if (next === undefined) {
      this.#seats.delete(queue);
      return;
    }
    seat.owner = next.owner;
    const entering = seat.waiting.filter(({ owner }) => owner === next.owner);
    const left = seat.waiting.filter(({ owner }) => owner !== next.owner);
    seat.waiting.splice(0, seat.waiting.length, ...left);
    seat.uses = entering.length;
    for (const { enter } of entering) enter();
  }
}
