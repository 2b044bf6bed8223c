/** The calls of one object's storage. Before the first of them the object is opened, which ends the use of it by those before. */
import {
  type FoundValues,
  FROM_KEY,
  GET,
  GET_ALARM,
  LIST,
  type ListedPage,
  OPEN,
  type OpenedObject,
  PREFIX,
  TO_KEY,
  WRITE,
} from '../../../bindings/objects/storage-wire.ts';
import { ServiceId } from '../../../quotas/service-calls.ts';
import { callService, callServiceBlocking } from '../../call-service.ts';
import { currentInvocation, type GuestInvocation } from '../../events/invocation.ts';
import type { HostBody } from '../../host-body.ts';
import {
  arrayPush,
  arraySlice,
  jsonParse,
  jsonStringify,
  PromiseCtor,
  promiseThen,
  typedArrayLength,
  typedArraySet,
  Uint8ArrayCtor,
} from '../../primordials.ts';
import { rejection } from '../../rejection.ts';
import type { ListRange } from './arguments.ts';
import { copyOf, type Entries, type Entry, packEntries, packKeys, unpackEntries } from './packing.ts';

export interface ReceivedReply {
  readonly head: unknown;
  readonly body: Uint8Array;
}

export interface WrittenBatch {
  readonly entries: Entries;
  readonly isClearing: boolean;
  readonly alarm: number | null | undefined;
  readonly hasSql: boolean;
  /** Answers wait for it. */
  readonly holdsOutput: boolean;
}

export interface ListedEntries {
  readonly entries: readonly Entry[];
  readonly isDone: boolean;
}

export class StorageCalls {
  /** JSON, without the brace at its end. */
  readonly #address: string;
  #user: number | undefined;
  #opening: Promise<void> | undefined;
  /** Nothing was stored when the object was opened. */
  wasEmpty = false;
  #writes = 0;
  /** The name, as a call that sets the alarm has it. */
  readonly #named: string;

  constructor(className: string, id: string, name: string | undefined) {
    this.#named = name === undefined ? '' : `,"m":${jsonStringify(name)}`;
    this.#address = `{"c":${jsonStringify(className)},"i":${jsonStringify(id)}`;
  }

  /** Values by key; null for keys that are not there, and with `isExistence` no bytes for those that are. */
  async get(keys: readonly string[], isExistence = false): Promise<(Uint8Array | null)[]> {
    const values: (Uint8Array | null)[] = [];
    while (values.length < keys.length) {
      const rest = values.length === 0 ? keys : arraySlice(keys, values.length);
      addFound(values, await this.#call(GET, isExistence ? EXISTENCE : '', packKeys(rest)), isExistence);
    }
    return values;
  }

  /** As {@link get}, and the thread stands still meanwhile. */
  getNow(keys: readonly string[], isExistence = false): (Uint8Array | null)[] {
    const values: (Uint8Array | null)[] = [];
    while (values.length < keys.length) {
      const rest = values.length === 0 ? keys : arraySlice(keys, values.length);
      addFound(values, this.callNow(GET, isExistence ? EXISTENCE : '', packKeys(rest)), isExistence);
    }
    return values;
  }

  async list(range: ListRange, limit: number): Promise<ListedEntries> {
    const { args, body } = listCall(range, limit);
    return pageOf(await this.#call(LIST, args, body));
  }

  /** As {@link list}, and the thread stands still meanwhile. */
  listNow(range: ListRange, limit: number): ListedEntries {
    const { args, body } = listCall(range, limit);
    return pageOf(this.callNow(LIST, args, body));
  }

  async getAlarm(): Promise<number | null> {
    const { head } = await this.#call(GET_ALARM, '', null);
    return head as number | null; // the host's
  }

  /**
   * Resolves when it is on disk. Writes take effect in the order of the calls. @param onSent called when it is on its way; never for a write that could not be
   * sent
   */
  write({ entries, isClearing, alarm, hasSql, holdsOutput }: WrittenBatch, onSent: () => void): Promise<unknown> {
    const body = packEntries(entries);
    const clear = isClearing ? ',"d":true' : '';
    const time = alarm === undefined ? '' : `,"a":${alarm}${alarm === null ? '' : this.#named}`;
    const sql = hasSql ? ',"x":true' : '';
    const free = holdsOutput ? '' : ',"u":true';
    const args = `,"q":${this.#writes++},"n":${typedArrayLength(body)}${clear}${time}${sql}${free}`;
    return this.#call(WRITE, args, body, onSent);
  }

  async #call(
    method: string,
    args: string,
    body: Uint8Array | null,
    onSent: () => void = ignore,
  ): Promise<ReceivedReply> {
    if (this.#user !== undefined) return this.#send(method, args, body, onSent);
    this.#opening ??= this.#open();
    const invocation = currentInvocation();
    await this.#opening;
    const reply = this.#send(method, args, body, onSent);
    // The turn may belong to another invocation, with which the call must not end.
    const other = currentInvocation();
    if (other !== undefined && other !== invocation) holdFor(other, reply);
    return reply;
  }

  async #open(): Promise<void> {
    try {
      const { head } = await this.#sendAs(0, OPEN, '', null);
      this.#opened(head as OpenedObject); // the host's
    } catch (error) {
      this.#opening = undefined;
      throw error;
    }
  }

  /** Makes a call for whose answer the thread stands still. */
  callNow(method: string, args: string, body: Uint8Array | null): ReceivedReply {
    if (this.#user === undefined) this.#opened(this.#sendNow(0, OPEN, '', null).head as OpenedObject); // the host's
    return this.#sendNow(this.#user ?? 0, method, args, body);
  }

  #sendNow(user: number, method: string, args: string, body: Uint8Array | null): ReceivedReply {
    const sent = body === null || typedArrayLength(body) === 0 ? undefined : body;
    const reply = callServiceBlocking(ServiceId.ObjectStorage, method, `${this.#address},"s":${user}${args}}`, sent);
    return { head: jsonParse(reply.head), body: reply.body };
  }

  /** The last to open it has it, and two calls may have done so: one that waits for its answer, and one that cannot. */
  #opened({ s, e }: OpenedObject): void {
    if (this.#user !== undefined && this.#user > s) return;
    this.#user = s;
    this.wasEmpty = e;
  }

  #send(method: string, args: string, body: Uint8Array | null, onSent: () => void): Promise<ReceivedReply> {
    return this.#sendAs(this.#user ?? 0, method, args, body, onSent);
  }

  #sendAs(
    user: number,
    method: string,
    args: string,
    body: Uint8Array | null,
    onSent: () => void = ignore,
  ): Promise<ReceivedReply> {
    const head = `${this.#address},"s":${user}${args}}`;
    const sent = body !== null && typedArrayLength(body) === 0 ? null : body;
    return new PromiseCtor(resolve => {
      callService(ServiceId.ObjectStorage, method, '', head, sent, {
        onReply: (text, replyBody) => resolve(received(text, replyBody)),
        onFailed: (makeError, site) => resolve(rejection(makeError, site)),
      });
      // Not when the call has thrown: answers would leave as if the write were on its way.
      onSent();
    });
  }
}

const EXISTENCE = ',"x":true';

function addFound(values: (Uint8Array | null)[], { head, body }: ReceivedReply, isExistence: boolean): void {
  const { n: lengths } = head as FoundValues; // the host's
  let at = 0;
  for (let i = 0; i < lengths.length; i++) {
    const length = lengths[i] ?? -1;
    if (length < 0) arrayPush(values, null);
    else if (isExistence) arrayPush(values, NOTHING);
    else {
      arrayPush(values, length === typedArrayLength(body) ? body : copyOf(body, at, at + length));
      at += length;
    }
  }
}

function listCall(
  { from, to, prefix, isReverse }: ListRange,
  limit: number,
): { readonly args: string; readonly body: Uint8Array } {
  const keys: string[] = [];
  let bits = 0;
  if (from !== undefined) {
    arrayPush(keys, from);
    bits |= FROM_KEY;
  }
  if (to !== undefined) {
    arrayPush(keys, to);
    bits |= TO_KEY;
  }
  if (prefix !== undefined) {
    arrayPush(keys, prefix);
    bits |= PREFIX;
  }
  return { args: `,"l":${limit},"r":${isReverse},"b":${bits}`, body: packKeys(keys) };
}

function pageOf({ head, body }: ReceivedReply): ListedEntries {
  return { entries: unpackEntries(body), isDone: (head as ListedPage).d }; // the host's
}

/** Keeps an invocation open until the promise has settled. */
export function holdFor(invocation: GuestInvocation, promise: Promise<unknown>): void {
  invocation.tasks++;
  const over = (): void => invocation.endTask();
  promiseThen(promise, over, over);
}

export function received(text: string, body: HostBody | null): ReceivedReply | Promise<ReceivedReply> {
  const head: unknown = jsonParse(text);
  if (body === null) return { head, body: NOTHING };
  return body.isComplete ? { head, body: body.bytes() } : collected(head, body);
}

export async function collected(head: unknown, body: HostBody): Promise<ReceivedReply> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for (let chunk = await body.next(); chunk !== undefined; chunk = await body.next()) {
    arrayPush(chunks, chunk);
    length += typedArrayLength(chunk);
  }
  const whole = new Uint8ArrayCtor(length);
  let at = 0;
  for (let i = 0; i < chunks.length; i++) {
    const chunk = chunks[i];
    if (chunk === undefined) continue;
    typedArraySet(whole, chunk, at);
    at += typedArrayLength(chunk);
  }
  return { head, body: whole };
}

const NOTHING = new Uint8ArrayCtor(0);
const ignore = (): void => {};
