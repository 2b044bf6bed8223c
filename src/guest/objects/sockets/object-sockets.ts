/** The WebSockets that an object has accepted to sleep. The host keeps them; here is what the live instance knows of them. */
import {
  LIST,
  LISTED_HEAD_BYTES,
  type ListedSocket,
  type ListedSockets,
  NO_ATTACHMENT,
  SOCKET_LIMITS,
  SocketEntry,
} from '../../../bindings/objects/socket-wire.ts';
import { RecordKind } from '../../../bindings/websocket/wire.ts';
import { Op } from '../../../isolate/ops/table.ts';
import { ServiceId } from '../../../quotas/service-calls.ts';
import { op } from '../../bridge.ts';
import { callNow } from '../../call-service.ts';
import {
  arrayIndexOf,
  arrayPush,
  DateCtor,
  ErrorCtor,
  jsonParse,
  jsonStringify,
  MapCtor,
  mapDelete,
  mapForEach,
  mapGet,
  mapHas,
  mapSet,
  PromiseCtor,
  RangeErrorCtor,
  TypeErrorCtor,
  typedArrayLength,
  typedArraySet,
  typedArraySubarray,
  Uint8ArrayCtor,
} from '../../primordials.ts';
import { rejection } from '../../rejection.ts';
import { decodeUtf8, encodeUtf8 } from '../../utf8.ts';
import { concatBytes } from '../../web/base/buffers.ts';
import { toSequence, toUSVString } from '../../web/base/idl.ts';
import type { Link } from '../../websockets/link.ts';
import { PairLink, type SleepingEnd } from '../../websockets/pair-link.ts';
import {
  createWebSocket,
  isWebSocket,
  SocketState,
  setAttachmentForm,
  socketState,
  type WebSocket,
} from '../../websockets/web-socket.ts';
import { type ReceivedReply, received } from '../storage/storage-calls.ts';
import { decodeValue, encodeValue } from '../storage/values.ts';
import { isAutoResponse, WebSocketRequestResponsePair } from './auto-response.ts';
import { Outbox, type SocketOwner } from './outbox.ts';

const CLOSED = 3;

/** One socket: its messages go to the host. */
class SleepingLink implements Link {
  readonly socket: number;
  readonly tags: readonly string[];
  readonly sockets: GuestObjectSockets;
  /** When the host has answered it last, in milliseconds since the epoch; 0 for never. */
  answeredMs = 0;
  #isAccepted = true;
  #failure: { readonly error: unknown } | undefined = undefined;
  #listeners: ((failure: { readonly error: unknown } | undefined) => void)[] = [];

  constructor(socket: number, tags: readonly string[], sockets: GuestObjectSockets) {
    this.socket = socket;
    this.tags = tags;
    this.sockets = sockets;
  }

  start(): void {}

  send(data: string | Uint8Array): void {
    this.sockets.outbox.push(this.socket, typeof data === 'string' ? RecordKind.Text : RecordKind.Binary, data);
  }

  close(code: number, reason: string): void {
    const text = encodeUtf8(reason);
    const head = new Uint8ArrayCtor(2);
    head[0] = code & 0xff;
    head[1] = code >> 8;
    this.sockets.outbox.push(this.socket, RecordKind.Close, concatBytes([head, text], 2 + typedArrayLength(text)));
  }

  attach(bytes: Uint8Array): void {
    this.sockets.outbox.push(this.socket, SocketEntry.Attachment, bytes);
  }

  /** The host is asked for it. */
  accepting(): void {
    this.#isAccepted = false;
    const json = jsonStringify(this.tags);
    this.sockets.outbox.push(this.socket, SocketEntry.Accept, `{"t":${json}}`, failure => {
      this.#isAccepted = true;
      this.#failure = failure;
      if (failure !== undefined) this.sockets.ended(this.socket);
      const listeners = this.#listeners;
      this.#listeners = [];
      for (let i = 0; i < listeners.length; i++) listeners[i]?.(failure);
    });
  }

  whenAccepted(listener: (failure: { readonly error: unknown } | undefined) => void): void {
    if (this.#isAccepted) listener(this.#failure);
    else arrayPush(this.#listeners, listener);
  }
}

interface Sleeping {
  readonly socket: WebSocket;
  readonly state: SocketState;
  readonly link: SleepingLink;
}

export class GuestObjectSockets {
  readonly outbox: Outbox;
  readonly #args: string;
  readonly #sockets = new MapCtor<number, Sleeping>();
  #count = 0;
  #auto: WebSocketRequestResponsePair | null = null;
  #eventTimeoutMs = 0;

  constructor(object: SocketOwner, name: string | undefined) {
    const { className, id } = object;
    const named = name === undefined ? '' : `,"n":${jsonStringify(name)}`;
    this.#args = `{"c":${jsonStringify(className)},"i":${jsonStringify(id)}${named}}`;
    this.outbox = new Outbox(object, this.#args);
  }

  // --- for `ctx` ---

  accept(value: unknown, tags: unknown): void {
    if (!isWebSocket(value)) throw new TypeErrorCtor('acceptWebSocket() takes a WebSocket of a WebSocketPair');
    const state = socketState(value);
    const pair = state.link;
    if (state.use !== 'new' || !(pair instanceof PairLink) || pair.other === undefined || pair.sleeping !== undefined) {
      throw new TypeErrorCtor(
        'acceptWebSocket() takes a WebSocket of a WebSocketPair that was not accepted, and not returned in a Response',
      );
    }
    const names = checkedTags(tags);
    if (this.#count >= SOCKET_LIMITS.sockets) {
      throw new ErrorCtor(`Only ${SOCKET_LIMITS.sockets} websockets can be accepted on a single object`);
    }
    const link = new SleepingLink(this.#newNumber(), names, this);
    if (this.#count === 0) this.#tellRules();
    link.accepting();
    state.use = 'accepted';
    state.link = link;
    const sleeping: SleepingEnd = link;
    pair.other.sleeping = sleeping;
    pair.sleeping = sleeping;
    if (state.attachment !== undefined) link.attach(state.attachment);
    this.#add({ socket: value, state, link });
  }

  list(tag: unknown): WebSocket[] {
    const name = tag === undefined ? undefined : toUSVString(tag);
    const list: WebSocket[] = [];
    mapForEach(this.#sockets, ({ socket, state, link }) => {
      if (state.readyState === CLOSED) return;
      if (name === undefined || arrayIndexOf(link.tags, name) >= 0) arrayPush(list, socket);
    });
    return list;
  }

  tagsOf(value: unknown): string[] {
    const { tags } = this.#linkOf(value, 'getTags');
    const list: string[] = [];
    for (let i = 0; i < tags.length; i++) arrayPush(list, tags[i] ?? '');
    return list;
  }

  get autoResponse(): WebSocketRequestResponsePair | null {
    return this.#auto;
  }

  setAutoResponse(value: unknown): void {
    if (value !== undefined && value !== null && !isAutoResponse(value)) {
      throw new TypeErrorCtor('setWebSocketAutoResponse() takes a WebSocketRequestResponsePair');
    }
    this.#auto = isAutoResponse(value) ? value : null;
    if (this.#count > 0) this.#tellAutoResponse();
  }

  answeredAt(value: unknown): Date | null {
    const { answeredMs } = this.#linkOf(value, 'getWebSocketAutoResponseTimestamp');
    return answeredMs === 0 ? null : new DateCtor(answeredMs);
  }

  /** 0 for none. */
  get eventTimeoutMs(): number {
    return this.#eventTimeoutMs;
  }

  setEventTimeout(ms: number): void {
    if (!(ms >= 0 && ms <= SOCKET_LIMITS.eventTimeoutMs)) {
      throw new RangeErrorCtor(
        `The timeout of events is at most ${SOCKET_LIMITS.eventTimeoutMs} milliseconds, given ${ms}`,
      );
    }
    this.#eventTimeoutMs = ms;
    if (this.#count > 0) this.#tellTimeout();
  }

  // --- for events ---

  find(socket: number): Sleeping | undefined {
    return mapGet(this.#sockets, socket);
  }

  /** The connection is over. */
  ended(socket: number): Sleeping | undefined {
    const sleeping = mapGet(this.#sockets, socket);
    if (sleeping === undefined) return undefined;
    mapDelete(this.#sockets, socket);
    this.#count--;
    sleeping.state.readyState = CLOSED;
    return sleeping;
  }

  answered(list: readonly (readonly [socket: number, ms: number])[]): void {
    for (let i = 0; i < list.length; i++) {
      const entry = list[i];
      if (entry === undefined) continue;
      const link = mapGet(this.#sockets, entry[0])?.link;
      if (link !== undefined) link.answeredMs = entry[1];
    }
  }

  /** Loads the sockets that an earlier instance has accepted. */
  async load(): Promise<void> {
    const { head, body } = await new PromiseCtor<ReceivedReply>(resolve => {
      callNow(ServiceId.ObjectSockets, LIST, '', this.#args, null, {
        onReply: (text, replyBody) => resolve(received(text, replyBody)),
        onFailed: (makeError, site) => resolve(rejection(makeError, site)),
      });
    });
    const { p, t } = head as ListedSockets; // the host's
    this.#eventTimeoutMs = t;
    if (p !== null) this.#auto = new WebSocketRequestResponsePair(p[0], p[1]);
    for (let at = 0; at < typedArrayLength(body); ) {
      const length = numberAt(body, at);
      const attached = numberAt(body, at + 4);
      at += LISTED_HEAD_BYTES;
      const { s, t: tags, a }: ListedSocket = jsonParse(decodeUtf8(typedArraySubarray(body, at, at + length))); // the host's
      at += length;
      const link = new SleepingLink(s, tags, this);
      link.answeredMs = a;
      const state = new SocketState();
      state.use = 'accepted';
      state.link = link;
      if (attached !== NO_ATTACHMENT) {
        state.attachment = new Uint8ArrayCtor(attached);
        typedArraySet(state.attachment, typedArraySubarray(body, at, at + attached));
        at += attached;
      }
      this.#add({ socket: createWebSocket(state), state, link });
    }
  }

  #add(sleeping: Sleeping): void {
    mapSet(this.#sockets, sleeping.link.socket, sleeping);
    this.#count++;
  }

  #linkOf(value: unknown, method: string): SleepingLink {
    const link = isWebSocket(value) ? socketState(value).link : undefined;
    if (link instanceof SleepingLink && link.sockets === this) return link;
    throw new TypeErrorCtor(`${method}() takes a WebSocket that this object has accepted by acceptWebSocket()`);
  }

  #newNumber(): number {
    for (;;) {
      const bytes = new Uint8ArrayCtor(4);
      op(Op.Random, bytes);
      const number = numberAt(bytes, 0);
      if (!mapHas(this.#sockets, number)) return number;
    }
  }

  /** The host forgets them with the last socket. */
  #tellRules(): void {
    if (this.#auto !== null) this.#tellAutoResponse();
    if (this.#eventTimeoutMs > 0) this.#tellTimeout();
  }

  #tellAutoResponse(): void {
    const auto = this.#auto;
    if (auto === null) {
      this.outbox.push(0, SocketEntry.AutoResponse, NOTHING);
      return;
    }
    const request = encodeUtf8(auto.request);
    const response = encodeUtf8(auto.response);
    const length = typedArrayLength(request);
    const head = new Uint8ArrayCtor(2);
    head[0] = length & 0xff;
    head[1] = length >> 8;
    const bytes = concatBytes([head, request, response], 2 + length + typedArrayLength(response));
    this.outbox.push(0, SocketEntry.AutoResponse, bytes);
  }

  #tellTimeout(): void {
    const bytes = new Uint8ArrayCtor(4);
    for (let i = 0; i < 4; i++) bytes[i] = (this.#eventTimeoutMs >>> (8 * i)) & 0xff;
    this.outbox.push(0, SocketEntry.EventTimeout, bytes);
  }
}

setAttachmentForm(value => {
  const bytes = encodeValue(value);
  const length = typedArrayLength(bytes);
  const most = SOCKET_LIMITS.attachmentBytes;
  if (length <= most) return bytes;
  throw new ErrorCtor(
    `A WebSocket 'attachment' cannot be larger than ${most} bytes. 'attachment' was ${length} bytes.`,
  );
}, decodeValue);

const NOTHING = new Uint8ArrayCtor(0);

function numberAt(bytes: Uint8Array, at: number): number {
  const low = (bytes[at] ?? 0) + (bytes[at + 1] ?? 0) * 0x100 + (bytes[at + 2] ?? 0) * 0x1_0000;
  return low + (bytes[at + 3] ?? 0) * 0x100_0000;
}

/** @throws TypeError, RangeError */
function checkedTags(value: unknown): readonly string[] {
  if (value === undefined) return [];
  const tags = toSequence(value, toUSVString, 'The tags of acceptWebSocket()');
  const names: string[] = [];
  for (let i = 0; i < tags.length; i++) {
    const tag = tags[i] ?? '';
    if (tag.length > SOCKET_LIMITS.tagLength) {
      throw new RangeErrorCtor(
        `a WebSocket tag has at most ${SOCKET_LIMITS.tagLength} characters, given ${tag.length}`,
      );
    }
    if (arrayIndexOf(names, tag) < 0) arrayPush(names, tag);
  }
  if (names.length <= SOCKET_LIMITS.tags) return names;
  throw new RangeErrorCtor(`a WebSocket has at most ${SOCKET_LIMITS.tags} tags, given ${names.length}`);
}
