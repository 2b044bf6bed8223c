/**
 * The operations of an object on its hibernatable sockets, on their way to the host: entries in their order, sent together at the end of a microtask, and not
 * before the object's earlier writes are on disk. A socket that is accepted leaves in a turn of the invocation that accepts it, because the host drops the
 * socket when that invocation ends without answering with it.
 */
import { ENTRY_HEAD_BYTES, SEND, SocketEntry } from '../../../bindings/objects/socket-wire.ts';
import { ServiceId } from '../../../quotas/service-calls.ts';
import { callNow } from '../../call-service.ts';
import { currentInvocation, type GuestInvocation } from '../../events/invocation.ts';
import { resume } from '../../events/resume.ts';
import {
  arrayPush,
  arraySplice,
  ErrorCtor,
  promiseResolve,
  promiseThen,
  typedArrayLength,
  typedArraySet,
  Uint8ArrayCtor,
} from '../../primordials.ts';
import { encodeUtf8 } from '../../utf8.ts';

/** The object, as far as its sockets need it. */
export interface SocketOwner {
  readonly className: string;
  readonly id: string;
  readonly broken: { readonly error: unknown } | undefined;
  readonly gates: {
    readonly isOutputOpen: boolean;
    whenWritten(listener: () => void): void;
  };
}

interface Failure {
  readonly error: unknown;
}

interface Entry {
  readonly socket: number;
  readonly kind: number;
  readonly data: string | Uint8Array;
  readonly onDone: ((failure: Failure | undefined) => void) | undefined;
  /** The invocation that it must leave with, which stays open until the host has taken it. Undefined when any may send it. */
  readonly accepting: GuestInvocation | undefined;
}

/** A call with this many bytes takes no more entries. */
const CALL_BYTES = 1024 * 1024;

export class Outbox {
  readonly #object: SocketOwner;
  /** JSON of SocketArguments. */
  readonly #args: string;
  #entries: Entry[] = [];
  /** The first of them, whose writes are on disk. */
  #passed = 0;
  #isWaiting = false;
  /** Stays open until the entries are sent. */
  #owner: GuestInvocation | undefined = undefined;

  constructor(object: SocketOwner, args: string) {
    this.#object = object;
    this.#args = args;
  }

  /** `onDone`: the host has taken it, or not. */
  push(socket: number, kind: number, data: string | Uint8Array, onDone?: Entry['onDone']): void {
    if (this.#object.broken !== undefined) throw new ErrorCtor('The object was reset: this instance of it is over');
    const accepting = kind === SocketEntry.Accept ? currentInvocation() : undefined;
    if (accepting !== undefined) accepting.tasks++;
    arrayPush(this.#entries, { socket, kind, data, onDone, accepting });
    if (this.#isWaiting) return;
    this.#isWaiting = true;
    this.#owner = currentInvocation();
    if (this.#owner !== undefined) this.#owner.tasks++;
    promiseThen(promiseResolve(undefined), () => this.#flush());
  }

  /** Nothing more is sent before this is done: later entries go with it. */
  #flush(): void {
    const { gates, broken } = this.#object;
    if (broken !== undefined) {
      this.#fail(broken.error);
      return;
    }
    if (gates.isOutputOpen) this.#passed = this.#entries.length;
    try {
      while (this.#passed > 0) {
        const accepting = this.#entries[0]?.accepting;
        if (accepting === undefined || accepting === currentInvocation()) this.#take(this.#send());
        else if (this.#flushIn(accepting)) return;
        else this.#refuseFirst();
      }
    } catch (error) {
      // It is the turn of an invocation that is over, or of none.
      const owner = this.#owner;
      if (owner === undefined || owner === currentInvocation() || !this.#flushIn(owner)) this.#fail(error);
      return;
    }
    const { length } = this.#entries;
    if (length === 0) this.#done();
    else
      gates.whenWritten(() => {
        // Nothing is taken meanwhile, and writes that follow are not waited for.
        this.#passed = length;
        this.#flush();
      });
  }

  /** Continues in a turn of the invocation, or when it has ended before. False when it is over. */
  #flushIn({ id }: GuestInvocation): boolean {
    const flush = (): void => this.#flush();
    return resume(id, flush, false, () => promiseThen(promiseResolve(undefined), flush));
  }

  /** The object is about to be reset. Entries that wait for none of its writes have been sent before that, and leave. */
  sendLast(): void {
    if (!this.#object.gates.isOutputOpen) return;
    this.#passed = this.#entries.length;
    try {
      while (this.#passed > 0) {
        const accepting = this.#entries[0]?.accepting;
        // A socket is accepted in the turn of its own invocation: the entries behind it fail with the object.
        if (accepting !== undefined && accepting !== currentInvocation()) return;
        this.#take(this.#send());
      }
    } catch {
      // It is the turn of an invocation that is over: the entries fail with the object.
    }
  }

  #done(): void {
    this.#isWaiting = false;
    const owner = this.#owner;
    this.#owner = undefined;
    owner?.endTask();
  }

  #fail(error: unknown): void {
    const entries = this.#take(this.#entries.length);
    this.#done();
    for (let i = 0; i < entries.length; i++) settle(entries[i], { error });
  }

  /** The invocation that has accepted the socket is over. */
  #refuseFirst(): void {
    const error = new ErrorCtor('The event that has accepted the WebSocket is over');
    settle(this.#take(1)[0], { error });
  }

  /** Takes the first entries out. */
  #take(count: number): Entry[] {
    const entries = arraySplice(this.#entries, 0, count);
    this.#passed = this.#passed > count ? this.#passed - count : 0;
    return entries;
  }

  /** One call with as many entries as it takes, and as may leave in this turn; answers how many. */
  #send(): number {
    const parts: Uint8Array[] = [];
    const waiting: Entry[] = [];
    let bytes = 0;
    let to = 0;
    const turn = currentInvocation();
    let lastText: string | undefined;
    let lastBytes: Uint8Array | undefined;
    for (; to < this.#passed && bytes < CALL_BYTES; to++) {
      const entry = this.#entries[to];
      if (entry === undefined) continue;
      if (entry.accepting !== undefined && entry.accepting !== turn) break;
      let part: Uint8Array;
      if (typeof entry.data !== 'string') part = entry.data;
      else if (entry.data === lastText && lastBytes !== undefined) part = lastBytes;
      else {
        part = encodeUtf8(entry.data);
        lastText = entry.data;
        lastBytes = part;
      }
      arrayPush(parts, part);
      bytes += ENTRY_HEAD_BYTES + typedArrayLength(part);
      if (entry.onDone !== undefined) arrayPush(waiting, entry);
    }
    const body = new Uint8ArrayCtor(bytes);
    let at = 0;
    for (let i = 0; i < to; i++) {
      const entry = this.#entries[i];
      const part = parts[i];
      if (entry === undefined || part === undefined) continue;
      at = putNumber(body, at, entry.socket);
      body[at++] = entry.kind;
      at = putNumber(body, at, typedArrayLength(part));
      typedArraySet(body, part, at);
      at += typedArrayLength(part);
    }
    const tell = (failure: Failure | undefined): void => {
      for (let i = 0; i < waiting.length; i++) settle(waiting[i], failure);
    };
    callNow(ServiceId.ObjectSockets, SEND, '', this.#args, body, {
      onReply: () => tell(undefined),
      onFailed: makeError => tell({ error: makeError() }),
    });
    return to;
  }
}

/** An answer that has waited for it is sent before the invocation may end that has accepted the socket. */
function settle(entry: Entry | undefined, failure: Failure | undefined): void {
  entry?.onDone?.(failure);
  entry?.accepting?.endTask();
}

function putNumber(target: Uint8Array, at: number, value: number): number {
  target[at] = value & 0xff;
  target[at + 1] = (value >>> 8) & 0xff;
  target[at + 2] = (value >>> 16) & 0xff;
  target[at + 3] = value >>> 24;
  return at + 4;
}
