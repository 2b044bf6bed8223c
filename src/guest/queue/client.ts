/** A queue as functions have it: `env.JOBS.send(body)`. */

import type { ClientPlatform } from '../../bindings/client-platform.ts';
import type {
  GuestQueueConfig,
  QueueContentType,
  WireMessage,
  WireMetrics,
  WireSend,
} from '../../bindings/queue/wire.ts';
import {
  arrayPush,
  dataViewBuffer,
  isView,
  jsonStringify,
  stringToLowerCase,
  TypeErrorCtor,
  typedArrayBuffer,
  typedArrayLength,
  typedArrayName,
  typedArraySet,
  Uint8ArrayCtor,
} from '../primordials.ts';
import { encodeUtf8 } from '../utf8.ts';
import { detachArrayBuffer } from '../web/base/array-buffer.ts';
import { copyOf } from '../web/base/buffers.ts';
import { defineInterface, isObject, toSequence } from '../web/base/idl.ts';
import type { Blob } from '../web/file/blob.ts';
import { dataCloneError } from '../web/messaging/structured-clone.ts';
import type { ReadableStream } from '../web/streams/streams.ts';
import { encodeStructured } from './structured.ts';

type Platform = ClientPlatform<ReadableStream, Blob>;

interface Encoded {
  readonly type: QueueContentType;
  readonly bytes: Uint8Array;
  readonly delaySeconds: number | undefined;
}

let isConstructing = false;

export class StoreQueue {
  readonly #platform: Platform;
  readonly #contentType: QueueContentType;

  constructor(platform: Platform, contentType: QueueContentType) {
    if (!isConstructing) throw new TypeErrorCtor('Illegal constructor');
    this.#platform = platform;
    this.#contentType = contentType;
  }

  /** Resolves when the message is kept on disk. */
  async send(body: unknown, options: unknown = undefined): Promise<object> {
    const message = encode(body, options, this.#contentType);
    if (message.type === 'bytes') detach(body);
    return send(this.#platform, 'send', [message], undefined);
  }

  /** Resolves when all messages are kept on disk; none is when it rejects. */
  async sendBatch(messages: unknown, options: unknown = undefined): Promise<object> {
    const encoded = toSequence(
      messages,
      item => {
        if (!isObject(item)) throw new TypeErrorCtor('A message of sendBatch() is not an object with a body');
        return encode((item as { readonly body?: unknown }).body, item, this.#contentType);
      },
      'The messages of sendBatch()',
    );
    if (encoded.length === 0) throw new TypeErrorCtor('sendBatch() requires at least one message');
    return send(this.#platform, 'sendBatch', encoded, delayOf(options));
  }

  async metrics(): Promise<object> {
    const { head } = await this.#platform.call('metrics', null, null);
    return metricsOf(head);
  }
}

defineInterface(StoreQueue);

export function createQueue(platform: Platform, _binding: string, config: unknown): object {
  const { contentType } = config as GuestQueueConfig; // the host's
  isConstructing = true;
  try {
    return new StoreQueue(platform, contentType);
  } finally {
    isConstructing = false;
  }
}

async function send(
  platform: Platform,
  method: string,
  messages: readonly Encoded[],
  delaySeconds: number | undefined,
): Promise<object> {
  const listed: WireMessage[] = [];
  let total = 0;
  for (let i = 0; i < messages.length; i++) {
    const message = messages[i];
    if (message === undefined) continue;
    const length = typedArrayLength(message.bytes);
    total += length;
    arrayPush(listed, { t: message.type, n: length, d: message.delaySeconds });
  }
  const args: WireSend = { m: listed, d: delaySeconds };
  const { head } = await platform.call(method, args, total === 0 ? null : joined(messages, total));
  return { metadata: { metrics: metricsOf(head) } };
}

function joined(messages: readonly Encoded[], total: number): Uint8Array {
  const [first] = messages;
  if (messages.length === 1 && first !== undefined) return first.bytes;
  const bytes = new Uint8ArrayCtor(total);
  let at = 0;
  for (let i = 0; i < messages.length; i++) {
    const part = messages[i]?.bytes;
    if (part === undefined) continue;
    typedArraySet(bytes, part, at);
    at += typedArrayLength(part);
  }
  return bytes;
}

function metricsOf(head: unknown): object {
  const { backlogCount, backlogBytes, oldestMessageTimestamp } = head as WireMetrics; // the host's
  if (oldestMessageTimestamp === undefined) return { backlogCount, backlogBytes };
  return { backlogCount, backlogBytes, oldestMessageTimestamp: new DateCtor(oldestMessageTimestamp) };
}

function encode(body: unknown, options: unknown, usual: QueueContentType): Encoded {
  if (body === undefined) throw new TypeErrorCtor('Message body cannot be undefined');
  const given: unknown = isObject(options) ? (options as { readonly contentType?: unknown }).contentType : undefined;
  const type = given === undefined ? usual : stringToLowerCase(`${given}`);
  const delaySeconds = delayOf(options);
  switch (type) {
    case 'json':
      return { type, bytes: encodeUtf8(jsonOf(body)), delaySeconds };
    case 'text':
      if (typeof body !== 'string') throw wrongBody(type, 'a string', body);
      return { type, bytes: encodeUtf8(body), delaySeconds };
    case 'bytes':
      if (!isView(body)) throw wrongBody(type, 'ArrayBufferView', body);
      return { type, bytes: copyOf(body), delaySeconds };
    case 'v8':
      return { type, bytes: encodeStructured(body), delaySeconds };
    default:
      throw new TypeErrorCtor(`Unsupported queue message content type: ${type}`);
  }
}

function wrongBody(type: string, expected: string, body: unknown): TypeError {
  const given = body === null ? 'null' : isObject(body) ? nameOf(body) : typeof body;
  return new TypeErrorCtor(`Content Type "${type}" requires a value of type ${expected}, but received: ${given}`);
}

function nameOf(object: object): string {
  const { constructor } = object as { readonly constructor: unknown }; // every object can be read from
  const name: unknown = typeof constructor === 'function' ? constructor.name : undefined;
  return typeof name === 'string' && name !== '' ? name : 'Object';
}

function jsonOf(body: unknown): string {
  if (typeof body === 'function') throw dataCloneError('A function cannot be sent to a queue');
  const text: string | undefined = jsonStringify(body);
  if (text === undefined) throw new TypeErrorCtor(`A value of type ${typeof body} cannot be sent as JSON`);
  return text;
}

/** As on the hosted platform: after send() the bytes are the message's, and no longer the function's. */
function detach(view: unknown): void {
  if (!isView(view)) return;
  detachArrayBuffer(typedArrayName(view) === undefined ? dataViewBuffer(view) : typedArrayBuffer(view));
}

function delayOf(options: unknown): number | undefined {
  if (!isObject(options)) return undefined;
  const given: unknown = (options as { readonly delaySeconds?: unknown }).delaySeconds;
  if (given === undefined || given === null) return undefined;
  const seconds = toNumber(given);
  if (seconds - seconds !== 0) throw new TypeErrorCtor(`delaySeconds is ${seconds}, it must be a number`);
  return seconds;
}

const DateCtor = Date;
const toNumber = Number;
