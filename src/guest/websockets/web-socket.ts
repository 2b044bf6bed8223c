/** WebSocket, for sockets of pairs and of connections alike. @see https://websockets.spec.whatwg.org/#the-websocket-interface */
import { CloseCode, isSendableCode } from '../../bindings/websocket/wire.ts';
import { ErrorCtor, TypeErrorCtor, typedArrayLength } from '../primordials.ts';
import { encodeUtf8 } from '../utf8.ts';
import { currentFrame, type Frame, runInFrame } from '../web/base/async-context.ts';
import { bufferOf, copyOf, isBufferSource } from '../web/base/buffers.ts';
import { DOMException } from '../web/base/dom-exception.ts';
import {
  defineConstants,
  defineInterface,
  requireArguments,
  toDictionary,
  toDOMString,
  toUnsignedShort,
  toUSVString,
} from '../web/base/idl.ts';
import { ErrorEvent, markTrusted } from '../web/events/event.ts';
import { defineHandler, dispatch, EventTarget, type TargetState, targetState } from '../web/events/event-target.ts';
import { blobBytes, createBlob, isBlob } from '../web/file/blob.ts';
import { MessageEvent } from '../web/messaging/messaging.ts';
import { CloseEvent } from './close-event.ts';
import { openConnection } from './connect.ts';
import type { HostLink } from './host-link.ts';
import type { Link, LinkOwner } from './link.ts';
import { PairLink } from './pair-link.ts';

const CONNECTING = 0;
const OPEN = 1;
const CLOSING = 2;
const CLOSED = 3;

/** No message is longer; the host has a limit of its own. */
const MAX_MESSAGE_BYTES = 32 * 1024 * 1024;
const MAX_REASON_BYTES = 123;

const BINARY_TYPES = ['blob', 'arraybuffer'] as const;
type BinaryType = (typeof BINARY_TYPES)[number];

let defaultBinaryType: BinaryType = 'arraybuffer';

/** By the compatibility flags of the function. */
export function setDefaultBinaryType(type: BinaryType): void {
  defaultBinaryType = type;
}

let encodeAttachment: (value: unknown) => Uint8Array;
let decodeAttachment: (bytes: Uint8Array) => unknown;

/** How values are serialized that sockets keep. */
export function setAttachmentForm(encode: typeof encodeAttachment, decode: typeof decodeAttachment): void {
  encodeAttachment = encode;
  decodeAttachment = decode;
}

/** `given`: handed to a response, or made by the constructor, so no other code may have it. */
type Use = 'new' | 'accepted' | 'given';

export class SocketState implements LinkOwner {
  link: Link | undefined;
  use: Use = 'new';
  readyState = OPEN;
  binaryType: BinaryType = defaultBinaryType;
  url: string | null = null;
  protocol = '';
  target: TargetState | undefined;
  /** As it is serialized. */
  attachment: Uint8Array | undefined = undefined;
  /** The asynchronous context in which the function has accepted or opened it. Its events are in that. */
  #frame: Frame | undefined = undefined;
  #hasClosed = false;

  get hasClosed(): boolean {
    return this.#hasClosed;
  }

  accept(): void {
    this.use = 'accepted';
    this.keepContext();
    this.link?.start();
  }

  keepContext(): void {
    this.#frame = currentFrame();
  }

  /** Has the messages of an exchange from now on. */
  attach(link: Link): void {
    this.link = link;
    if (this.use === 'accepted') link.start();
  }

  close(code: number, reason: string): void {
    this.#hasClosed = true;
    if (this.readyState >= CLOSING) return;
    this.readyState = CLOSING;
    this.link?.close(code, reason);
  }

  // --- LinkOwner ---

  onMessage(data: string | Uint8Array): void {
    if (this.readyState === CLOSED) return;
    this.#fire(new MessageEvent('message', { __proto__: null, data: this.#valueOf(data) }));
  }

  onClose(code: number, reason: string): void {
    if (this.readyState === CLOSED) return;
    // A close is always answered.
    if (this.readyState !== CLOSING) this.link?.close(code, '');
    this.readyState = CLOSED;
    this.#fire(
      new CloseEvent('close', { __proto__: null, code: code === 0 ? CloseCode.None : code, reason, wasClean: true }),
    );
  }

  onLost(reason: string): void {
    if (this.readyState === CLOSED) return;
    this.readyState = CLOSED;
    const message = reason === '' ? 'The connection was lost' : reason;
    this.#fire(new ErrorEvent('error', { __proto__: null, message, error: new ErrorCtor(message) }));
    this.#fire(new CloseEvent('close', { __proto__: null, code: CloseCode.Lost, reason: '', wasClean: false }));
  }

  opened(link: HostLink, protocol: string): void {
    this.protocol = protocol;
    this.readyState = OPEN;
    // Before the event: its listeners send and close.
    this.attach(link);
    this.#fire(new MessageEvent('open'));
    link.start();
  }

  #valueOf(data: string | Uint8Array): unknown {
    if (typeof data === 'string') return data;
    return this.binaryType === 'blob' ? createBlob([data], '') : bufferOf(data);
  }

  #fire(event: MessageEvent | CloseEvent | ErrorEvent): void {
    const { target } = this;
    if (target === undefined) return;
    if (this.#frame === undefined) dispatch(target, markTrusted(event));
    else runInFrame(this.#frame, () => dispatch(target, markTrusted(event)), undefined, []);
  }
}

let pending: SocketState | undefined;

export let isWebSocket: (value: unknown) => value is WebSocket;
export let socketState: (socket: WebSocket) => SocketState;

export class WebSocket extends EventTarget {
  readonly #state: SocketState;

  constructor(url: unknown, protocols?: unknown);
  constructor(url: unknown, protocols: unknown = undefined) {
    if (pending === undefined) requireArguments(arguments.length, 1, 'WebSocket constructor');
    super();
    const state = pending ?? new SocketState();
    pending = undefined;
    this.#state = state;
    state.target = targetState(this);
    if (arguments.length > 0) connect(state, url, protocols);
  }

  get url(): string | null {
    return this.#state.url;
  }

  get readyState(): number {
    return this.#state.readyState;
  }

  get protocol(): string {
    return this.#state.protocol;
  }

  get extensions(): string {
    return '';
  }

  get binaryType(): BinaryType {
    return this.#state.binaryType;
  }

  /** Other values are ignored, as for all attributes that are enumerations. */
  set binaryType(value: unknown) {
    const text = toDOMString(value);
    if (text === 'blob' || text === 'arraybuffer') this.#state.binaryType = text;
  }

  /** Messages are received from now on. A second call changes nothing. */
  accept(options: unknown = undefined): void {
    toDictionary(options, 'The options of accept()');
    const state = this.#state;
    if (state.use === 'accepted') {
      if (state.link?.attach === undefined) return;
      throw new TypeErrorCtor("Can't accept() WebSocket after enabling hibernation.");
    }
    // One that the constructor has connected receives already.
    if (state.url !== null && state.readyState !== CONNECTING) return;
    if (state.use === 'given') {
      throw new TypeErrorCtor(
        "Can't accept() this WebSocket: it was returned in a Response, or made by its constructor",
      );
    }
    if (state.link instanceof PairLink && state.link.sleeping !== undefined) {
      throw new TypeErrorCtor("Can't accept() this WebSocket: its other end sleeps. Return it in a Response");
    }
    state.accept();
  }

  send(message: unknown): void {
    requireArguments(arguments.length, 1, 'WebSocket.send');
    const state = this.#state;
    if (state.readyState === CONNECTING) {
      throw new DOMException('The WebSocket is still connecting: wait for its open event', 'InvalidStateError');
    }
    if (state.use === 'new') {
      throw new TypeErrorCtor(
        'You must call one of accept() or state.acceptWebSocket() on this WebSocket before sending messages.',
      );
    }
    if (state.use === 'given' && state.link instanceof PairLink) {
      throw new TypeErrorCtor("Can't send() over this WebSocket: it was returned in a Response");
    }
    if (state.hasClosed) throw new TypeErrorCtor("Can't call WebSocket send() after close().");
    const data = isBufferSource(message)
      ? copyOf(message)
      : isBlob(message)
        ? copyOf(blobBytes(message))
        : toUSVString(message);
    const length = typeof data === 'string' ? data.length : typedArrayLength(data);
    if (length > MAX_MESSAGE_BYTES) {
      throw new TypeErrorCtor(`Can't send() a message of ${length} bytes: at most ${MAX_MESSAGE_BYTES} are allowed`);
    }
    if (state.readyState === OPEN) state.link?.send(data);
  }

  close(code: unknown = undefined, reason: unknown = undefined): void {
    const state = this.#state;
    const number = code === undefined ? 0 : toUnsignedShort(code);
    const text = reason === undefined ? '' : toUSVString(reason);
    if (code !== undefined && !isSendableCode(number)) {
      throw new DOMException(`Invalid WebSocket close code: ${number}.`, 'InvalidAccessError');
    }
    if (code === undefined && reason !== undefined) {
      throw new DOMException(
        'If you specify a WebSocket close reason, you must also specify a code.',
        'InvalidAccessError',
      );
    }
    const bytes = typedArrayLength(encodeUtf8(text));
    if (bytes > MAX_REASON_BYTES) {
      throw new DOMException(
        `The reason of a close has at most ${MAX_REASON_BYTES} bytes, given ${bytes}`,
        'SyntaxError',
      );
    }
    if (state.use === 'new') {
      throw new TypeErrorCtor(
        'You must call one of accept() or state.acceptWebSocket() on this WebSocket before sending messages.',
      );
    }
    state.close(number, text);
  }

  /** Keeps a copy of a value with the socket: of one that sleeps for as long as it is open. */
  serializeAttachment(value: unknown): void {
    requireArguments(arguments.length, 1, 'serializeAttachment');
    const state = this.#state;
    const bytes = encodeAttachment(value);
    state.attachment = bytes;
    state.link?.attach?.(bytes);
  }

  /** A copy of the value; null when nothing was attached. */
  deserializeAttachment(): unknown {
    const { attachment } = this.#state;
    return attachment === undefined ? null : decodeAttachment(attachment);
  }

  static {
    isWebSocket = (value): value is WebSocket => typeof value === 'object' && value !== null && #state in value;
    socketState = socket => socket.#state;
  }
}

defineConstants(WebSocket, { CONNECTING, OPEN, CLOSING, CLOSED });
defineInterface(WebSocket);
for (const type of ['close', 'error', 'message', 'open']) defineHandler(WebSocket.prototype, type);

/** A socket that the function accepts. */
export function createWebSocket(state: SocketState): WebSocket {
  pending = state;
  // Only this call has no arguments.
  return new (WebSocket as unknown as new () => WebSocket)();
}

function connect(state: SocketState, url: unknown, protocols: unknown): void {
  state.use = 'given';
  state.readyState = CONNECTING;
  state.keepContext();
  const target = openConnection(toUSVString(url), protocols, state, {
    onOpen: (link, protocol) => {
      if (state.readyState === CONNECTING) {
        state.opened(link, protocol);
      } else link.close(0, '');
    },
    onFailed: message => state.onLost(message),
  });
  state.url = target;
}
