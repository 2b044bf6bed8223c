/** Begins the events in which timers of stateful objects run, as the isolate asks for them. Everything in what it says was written by it. */
import { isIdOf } from '../../bindings/objects/object-id.js';
import type { IsolateHandle } from '../../pool/host/isolate-handle.js';
import { ProtocolError } from '../../protocol/frames/protocol-error.js';
import { guarded } from '../../quotas/guarded.js';
import type { HostShare } from '../../quotas/host/host-share.js';

/** The most timers of an isolate. */
const MAX_WAITING = 10_000;
/** When the account or the object has too much to do, the event begins later. */
const RETRY_MS = 100;
/** The size of a waiting timer event, besides its texts. */
const WAITING_BYTES = 512;

/** The object whose timer is due. */
export interface TimerObject {
  readonly className: string;
  readonly id: string;
}

export interface TimerEventsOwner {
  readonly share: HostShare;
  /** The key of the namespace of a class. */
  keyOf(className: string): string;
  /** Begins the event. False when it cannot begin now. */
  begin(object: TimerObject): boolean;
}

export class TimerEvents {
  readonly #owner: TimerEventsOwner;
  readonly #handle: IsolateHandle;
  readonly #waiting = new Map<string, TimerObject>();
  #heldBytes = 0;
  #retry: NodeJS.Timeout | undefined;

  constructor(owner: TimerEventsOwner, handle: IsolateHandle) {
    this.#owner = owner;
    this.#handle = handle;
    handle.timerDue = payload => this.#due(payload);
    handle.whenGone(() => this.#end());
  }

  /** @throws ProtocolError */
  #due(payload: Buffer): void {
    const object = this.#parse(payload);
    const key = `${object.className}/${object.id}`;
    if (this.#waiting.has(key) || this.#waiting.size >= MAX_WAITING) {
      throw new ProtocolError('An isolate has asked for an event of a timer before the one before it began');
    }
    if (!this.#handle.takesNew || this.#owner.begin(object)) return;
    this.#wait(key, object);
    this.#retryLater();
  }

  #parse(payload: Buffer): TimerObject {
    let value: unknown;
    try {
      value = JSON.parse(payload.toString('utf8'));
    } catch {
      // It is no array, and refused.
    }
    const [className, id]: readonly unknown[] = Array.isArray(value) ? value : [];
    if (typeof className !== 'string' || typeof id !== 'string' || !isIdOf(this.#owner.keyOf(className), id))
      throw new ProtocolError('The object whose timer is due is malformed');
    return { className, id };
  }

  #retryLater(): void {
    this.#retry ??= setTimeout(
      guarded(() => this.#tryAgain()),
      RETRY_MS,
    ).unref();
  }

  #tryAgain(): void {
    this.#retry = undefined;
    if (!this.#handle.takesNew) {
      this.#end();
      return;
    }
    const waiting = [...this.#waiting];
    this.#clear();
    for (const [key, object] of waiting) {
      if (!this.#owner.begin(object)) this.#wait(key, object);
    }
    if (this.#waiting.size > 0) this.#retryLater();
  }

  #end(): void {
    clearTimeout(this.#retry);
    this.#retry = undefined;
    this.#clear();
  }

  #wait(key: string, object: TimerObject): void {
    this.#count(WAITING_BYTES + key.length * 4);
    this.#waiting.set(key, object);
  }

  #clear(): void {
    this.#waiting.clear();
    this.#count(-this.#heldBytes);
  }

  #count(bytes: number): void {
    if (bytes === 0) return;
    this.#heldBytes += bytes;
    this.#owner.share.bytes.countHeap(bytes);
  }
}
