/**
 * Decides which work continues when the client is gone: the promises given to waitUntil, and nothing else. In one heap it is unknown which promise waits for
 * which work, so it is decided by order. A serial number is given to everything that an invocation begins (a timer, a call, an operation), and its turns carry
 * that number. A call of waitUntil holds everything that the invocation had begun by then, with all later work of it. Work that the handler begins later, in
 * its own turns, belongs to the handler, and ends with its client.
 */

/** In place of a serial number: the event itself, which the handler answers. */
export const OWN = Number.POSITIVE_INFINITY;
/** In place of a serial number: begun by held work, or by an unknown origin. */
export const HELD = 0;

export class HeldWork {
  /** By invocation: the last serial number that a call of waitUntil holds. */
  readonly #heldUpTo = new Map<number, number>();
  readonly #abandoned = new Set<number>();
  #lastSerial = 0;
  /** The turn that runs is the handler's own. */
  #isOwn = false;
  #isEntering = false;
  #isRestHeld = false;

  /** A number for work that begins now. */
  begin(): number {
    return this.#isOwn ? ++this.#lastSerial : HELD;
  }

  isHeld(invocation: number, serial: number): boolean {
    return serial <= (this.#heldUpTo.get(invocation) ?? HELD);
  }

  /** Whether the invocation may begin something now: not the handler of one whose client is gone. */
  mayBegin(invocation: number): boolean {
    return !this.#isOwn || !this.#abandoned.has(invocation);
  }

  /** A turn begins. */
  enter(invocation: number, serial: number): void {
    this.#isOwn = this.#heldUpTo.size === 0 ? serial !== HELD : !this.isHeld(invocation, serial);
    this.#isEntering = true;
    this.#isRestHeld = false;
  }

  /** The guest has returned; what it left to do in this turn are microtasks. */
  entered(): void {
    this.#isEntering = false;
    if (this.#isRestHeld) this.#isOwn = false;
  }

  /**
   * waitUntil was called. Work that the same code begins behind the call still belongs to the handler. Microtasks of the turn may belong to the promise of
   * waitUntil, or to the handler: they count as held.
   */
  hold(invocation: number): void {
    this.#heldUpTo.set(invocation, this.#lastSerial);
    if (this.#isEntering) this.#isRestHeld = true;
    else this.#isOwn = false;
  }

  /** The client is gone. */
  abandon(invocation: number): void {
    this.#abandoned.add(invocation);
  }

  /** The invocation is over. */
  forget(invocation: number): void {
    this.#heldUpTo.delete(invocation);
    this.#abandoned.delete(invocation);
  }
}
