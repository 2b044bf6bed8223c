/**
 * What an object does with its sleeping sockets, on its way to the host: entries in their order, sent together at the end of a microtask, and not before
 * what the object has written is on disk.
 */
import { ENTRY_HEAD_BYTES, SEND } from '../../../bindings/objects/socket-calls.ts';
import { ServiceId } from '../../../bindings/service-id.ts';
import { callNow } from '../../call-service.ts';
import { currentInvocation, type Invocation } from '../../events/invocation.ts';
import { resume } from '../../events/resume.ts';
import {
  arrayPush,
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

interface Entry {
  readonly socket: number;
  readonly kind: number;
  readonly data: string | Uint8Array;
  readonly onDone: ((failure: { readonly error: unknown } | undefined) => void) | undefined;
}

/** A call that has so many bytes takes no more entries. */
const CALL_BYTES = 1024 * 1024;

export class Outbox {
  readonly #object: SocketOwner;
  /** JSON of SocketArguments. */
  readonly #args: string;
  #entries: Entry[] = [];
  #isWaiting = false;
  /** Stays open until the entries are sent. */
  #owner: Invocation | undefined = undefined;

  constructor(object: SocketOwner, args: string) {
    this.#object = object;
    this.#args = args;
  }

  /** `onDone`: the host has taken it, or not. */
  push(socket: number, kind: number, data: string | Uint8Array, onDone?: Entry['onDone']): void {
    if (this.#object.broken !== undefined) throw new ErrorCtor('The object was reset: this instance of it is over');
    arrayPush(this.#entries, { socket, kind, data, onDone });
    if (this.#isWaiting) return;
    this.#isWaiting = true;
    this.#owner = currentInvocation();
    if (this.#owner !== undefined) this.#owner.tasks++;
    promiseThen(promiseResolve(undefined), () => this.#flush());
  }

  /** Nothing more is sent before this is done: what comes meanwhile goes with it. */
  #flush(): void {
    const { gates, broken } = this.#object;
    if (broken !== undefined) {
      this.#fail(broken.error);
      return;
    }
    if (!gates.isOutputOpen) {
      gates.whenWritten(() => this.#flush());
      return;
    }
    try {
      for (let from = 0; from < this.#entries.length; ) from = this.#send(from);
    } catch (error) {
      // It is the turn of an invocation that is over, or of none.
      const owner = this.#owner;
      if (owner === undefined || owner === currentInvocation() || !resume(owner.id, () => this.#flush()))
        this.#fail(error);
      return;
    }
    this.#entries = [];
    this.#done();
  }

  #done(): void {
    this.#isWaiting = false;
    const owner = this.#owner;
    this.#owner = undefined;
    owner?.endTask();
  }

  #fail(error: unknown): void {
    const entries = this.#entries;
    this.#entries = [];
    this.#done();
    for (let i = 0; i < entries.length; i++) entries[i]?.onDone?.({ error });
  }

  /** One call with as many entries as it takes; answers where the next begins. */
  #send(from: number): number {
    const parts: Uint8Array[] = [];
    const waiting: NonNullable<Entry['onDone']>[] = [];
    let bytes = 0;
    let to = from;
    let lastText: string | undefined;
    let lastBytes: Uint8Array | undefined;
    for (; to < this.#entries.length && bytes < CALL_BYTES; to++) {
      const entry = this.#entries[to];
      if (entry === undefined) continue;
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
      if (entry.onDone !== undefined) arrayPush(waiting, entry.onDone);
    }
    const body = new Uint8ArrayCtor(bytes);
    let at = 0;
    for (let i = from; i < to; i++) {
      const entry = this.#entries[i];
      const part = parts[i - from];
      if (entry === undefined || part === undefined) continue;
      at = putNumber(body, at, entry.socket);
      body[at++] = entry.kind;
      at = putNumber(body, at, typedArrayLength(part));
      typedArraySet(body, part, at);
      at += typedArrayLength(part);
    }
    const tell = (failure: { readonly error: unknown } | undefined): void => {
      for (let i = 0; i < waiting.length; i++) waiting[i]?.(failure);
    };
    callNow(ServiceId.ObjectSockets, SEND, '', this.#args, body, {
      onReply: () => tell(undefined),
      onFailed: makeError => tell({ error: makeError() }),
    });
    return to;
  }
}

function putNumber(target: Uint8Array, at: number, value: number): number {
  target[at] = value & 0xff;
  target[at + 1] = (value >>> 8) & 0xff;
  target[at + 2] = (value >>> 16) & 0xff;
  target[at + 3] = value >>> 24;
  return at + 4;
}
