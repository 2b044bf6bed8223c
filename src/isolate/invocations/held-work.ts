/**
 * What goes on when the client is gone: what waitUntil was given, and nothing else. In one heap it is unknown which promise waits for what, so it
 * is decided by order. Whatever an invocation begins (a timer, a call, an operation) has a serial number, and its turns are those of what began it.
 * A call of waitUntil holds all that the invocation had begun by then, with all that comes of it. What the handler begins later, in its own turns,
 * is its own, and ends with its client.
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

  /** A number for what is begun now. */
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
   * waitUntil was called. What the same code begins behind the call is still the handler's own. Microtasks of the turn may be those of what
   * waitUntil was given, or of the handler: they count as held.
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
