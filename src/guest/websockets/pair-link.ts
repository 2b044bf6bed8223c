/** The two ends of a pair within this realm. Messages wait until the other end receives. */
import { arrayPush, arraySlice, promiseResolve, promiseThen } from '../primordials.ts';
import type { Link, LinkOwner } from './link.ts';

interface Closing {
  readonly code: number;
  readonly reason: string;
}

/** The socket at one end sleeps: the other one is its client's, and can only be returned in a response. */
export interface SleepingEnd {
  readonly socket: number;
  /** Calls the listener when the host has the socket, or has refused it. */
  whenAccepted(listener: (failure: { readonly error: unknown } | undefined) => void): void;
}

type Item = string | Uint8Array | Closing;

/** Delivered items are removed from the front in steps of this many. */
const COMPACT_AT = 1024;

export class PairLink implements Link {
  readonly owner: LinkOwner;
  sleeping: SleepingEnd | undefined = undefined;
  #other: PairLink | undefined;
  #inbox: Item[] = [];
  #head = 0;
  #isStarted = false;
  #isScheduled = false;
  /** The link that replaces this end, once it has left the realm. */
  #next: Link | undefined;

  constructor(owner: LinkOwner) {
    this.owner = owner;
  }

  static join(a: PairLink, b: PairLink): void {
    a.#other = b;
    b.#other = a;
  }

  /** The other end. */
  get other(): PairLink | undefined {
    return this.#other;
  }

  start(): void {
    this.#isStarted = true;
    this.#schedule();
  }

  send(data: string | Uint8Array): void {
    this.#other?.receive(data);
  }

  close(code: number, reason: string): void {
    this.#other?.receive({ code, reason });
  }

  /** This end leaves the realm: waiting and later messages go to `next`. */
  leave(next: Link): void {
    this.#next = next;
    const items = arraySlice(this.#inbox, this.#head);
    this.#inbox = [];
    this.#head = 0;
    for (let i = 0; i < items.length; i++) {
      const item = items[i];
      if (item !== undefined) pass(item, next);
    }
  }

  /** Takes an item from the other end. */
  receive(item: Item): void {
    if (this.#next !== undefined) {
      pass(item, this.#next);
      return;
    }
    arrayPush(this.#inbox, item);
    this.#schedule();
  }

  #schedule(): void {
    if (!this.#isStarted || this.#isScheduled || this.#head === this.#inbox.length) return;
    this.#isScheduled = true;
    promiseThen(promiseResolve(undefined), () => this.#deliver());
  }

  /** One at a time: what a listener does with one is done before the next. */
  #deliver(): void {
    this.#isScheduled = false;
    const item = this.#inbox[this.#head++];
    if (this.#head === COMPACT_AT || this.#head === this.#inbox.length) {
      this.#inbox = arraySlice(this.#inbox, this.#head);
      this.#head = 0;
    }
    if (item === undefined) return;
    if (isClosing(item)) this.owner.onClose(item.code, item.reason);
    else this.owner.onMessage(item);
    this.#schedule();
  }
}

function pass(item: Item, link: Link): void {
  if (isClosing(item)) link.close(item.code, item.reason);
  else link.send(item);
}

function isClosing(item: Item): item is Closing {
  return typeof item === 'object' && 'reason' in item;
}
