/**
 * The WebSockets of one account are read in turn with everything else. When they have taken up a round of the event loop, or the account has used more of the
 * host than its share, all of them wait; then they continue one after the other. Otherwise one round would read the messages of many connections: 500 clients
 * with 60 KB of empty messages each held the host up for 4 s (measured, Node 20.20).
 */
import { guarded } from '../../quotas/guarded.js';
import type { CallWork } from '../../quotas/host/call-work.js';

export interface PacedSocket {
  /** Bytes that were read from the connection, and wait here until it is read again. */
  readonly waitingBytes: number;
  /** Whether it is to be read may have changed. */
  pauseOrResume(): void;
  /** Bytes may have come while it was not read: Node reads once more before it stops. */
  recount(): void;
}

/** The number of idle connections that continue at once. */
const MOST_AT_ONCE = 64;
const RECOUNT_MS = 250;
/** The time that reading may take of one round. */
const ROUND_MS = 10;

const paces = new WeakMap<object, AccountPace>();

export class AccountPace {
  readonly #sockets = new Set<PacedSocket>();
  /** The sockets that have not continued since the account waited, in their order. */
  readonly #held = new Set<PacedSocket>();
  readonly #paused = new Set<PacedSocket>();
  #isWaiting = false;
  /** When the first of them was read in this round of the event loop. */
  #roundMs: number | undefined;
  #timer: NodeJS.Timeout | undefined;

  /** @param owner what the account is known by */
  static of(owner: object): AccountPace {
    const known = paces.get(owner) ?? new AccountPace();
    paces.set(owner, known);
    return known;
  }

  add(socket: PacedSocket): void {
    this.#sockets.add(socket);
  }

  remove(socket: PacedSocket): void {
    this.#sockets.delete(socket);
    this.#held.delete(socket);
    this.resumed(socket);
  }

  mayRead(socket: PacedSocket): boolean {
    return !this.#isWaiting && !this.#held.has(socket);
  }

  /** A chunk of one of them is about to be read. */
  begins(): void {
    if (this.#roundMs !== undefined) return;
    this.#roundMs = performance.now();
    setImmediate(() => {
      this.#roundMs = undefined;
    });
  }

  /** It was read. No socket is read before its turn, if the account must wait. */
  read(work: Pick<CallWork, 'turn'>): void {
    if (this.#isWaiting) return;
    const isRoundOver = this.#roundMs !== undefined && performance.now() - this.#roundMs > ROUND_MS;
    const turn = work.turn() ?? (isRoundOver ? new Promise<void>(resolve => setImmediate(resolve)) : undefined);
    if (turn !== undefined) this.#wait(turn);
  }

  #wait(turn: Promise<void>): void {
    this.#isWaiting = true;
    for (const socket of this.#sockets) {
      this.#held.add(socket);
      socket.pauseOrResume();
    }
    const over = (): void => {
      this.#isWaiting = false;
      this.#release();
    };
    turn.then(over, over);
  }

  /** The socket is not read any more. */
  paused(socket: PacedSocket): void {
    this.#paused.add(socket);
    this.#timer ??= setInterval(
      guarded(() => {
        for (const each of this.#paused) each.recount();
      }),
      RECOUNT_MS,
    ).unref();
  }

  resumed(socket: PacedSocket): void {
    if (!this.#paused.delete(socket) || this.#paused.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  readonly #release = guarded((): void => {
    if (this.#isWaiting) return;
    let count = 0;
    for (const socket of this.#held) {
      this.#held.delete(socket);
      const isLoaded = socket.waitingBytes > 0;
      socket.pauseOrResume();
      // Reading its messages may make the account wait once more.
      if (isLoaded || ++count === MOST_AT_ONCE) break;
    }
    if (this.#held.size > 0) setImmediate(this.#release);
  });
}
