/** Functions of the application, as a function calls them: `await env.APP.lookup(args)`. */
import { CALL, type CallbackCall, type EncodedValue } from '../../bindings/callbacks/calls.ts';
import type { ClientPlatform } from '../../bindings/client-platform.ts';
import {
  arrayPush,
  defineProperty,
  objectFreeze,
  promiseReject,
  promiseResolve,
  TypeErrorCtor,
  typedArrayLength,
  typedArraySet,
  typedArraySubarray,
  Uint8ArrayCtor,
} from '../primordials.ts';
import { isUint8Array } from '../web/base/buffers.ts';
import type { Blob } from '../web/file/blob.ts';
import { ByteReader, createByteStream, type ReadableStream } from '../web/streams/streams.ts';
import { decodeValue, makeError, type Parts } from './decode.ts';
import { type Encoded, encodeValue } from './encode.ts';

type Platform = ClientPlatform<ReadableStream, Blob>;
type Payload = Uint8Array | ReadableStream | null;
type ReplyHead = EncodedValue | { readonly e: readonly [string, string] };

/** `names`: the callbacks that there are, as the host has listed them. */
export function createCallbacks(platform: Platform, binding: string, names: unknown): object {
  const callbacks = {};
  const list = names as readonly string[]; // the host's
  for (let i = 0; i < list.length; i++) {
    const name = list[i];
    if (name === undefined) continue;
    const callback = (...args: unknown[]): Promise<unknown> => {
      if (args.length > 1) {
        const message = `${binding}.${name}() takes one argument, it was called with ${args.length}: pass an object`;
        return promiseReject(new TypeErrorCtor(message));
      }
      return call(platform, name, args[0]);
    };
    defineProperty(callback, 'name', { __proto__: null, value: name, configurable: true } as PropertyDescriptor);
    defineProperty(callbacks, name, { __proto__: null, value: callback, enumerable: true } as PropertyDescriptor);
  }
  return objectFreeze(callbacks);
}

async function call(platform: Platform, name: string, argument: unknown): Promise<unknown> {
  const encoded = encodeValue(argument);
  const lengths: number[] = [];
  for (let i = 0; i < encoded.bytes.length; i++) arrayPush(lengths, typedArrayLength(encoded.bytes[i]));
  const args: CallbackCall = { f: name, v: encoded.json, b: lengths, s: encoded.stream !== undefined };
  const reply = await platform.call(CALL, args, bodyOf(encoded));
  const head = reply.head as ReplyHead; // the host's
  if ('e' in head) throw makeError(head.e[0], head.e[1]);
  return decodeValue(head.v, await takeApart(reply.body ?? null, head));
}

/** Bytes one after the other, and then those of the stream. */
function bodyOf({ bytes, stream }: Encoded): Payload {
  const whole = concat(bytes);
  if (stream === undefined) return whole;
  // A stream that comes from the host goes back to it without passing through this realm.
  if (whole === null) return stream;
  let reader: ByteReader | undefined;
  let isFirst = true;
  return createByteStream({
    pull() {
      if (isFirst) {
        isFirst = false;
        return whole;
      }
      reader ??= new ByteReader(stream);
      return nextOf(reader);
    },
    cancel(reason) {
      reader ??= new ByteReader(stream);
      reader.cancel(reason);
    },
  });
}

/** The next chunk that is not empty. */
async function nextOf(reader: ByteReader): Promise<Uint8Array | undefined> {
  for (;;) {
    const chunk = await reader.next();
    if (chunk === undefined || typedArrayLength(chunk) > 0) return chunk;
  }
}

function concat(sequences: readonly Uint8Array[]): Uint8Array | null {
  let length = 0;
  for (let i = 0; i < sequences.length; i++) length += typedArrayLength(sequences[i]);
  if (length === 0) return null;
  const whole = new Uint8ArrayCtor(length);
  let at = 0;
  for (let i = 0; i < sequences.length; i++) {
    const bytes = sequences[i];
    if (bytes === undefined) continue;
    typedArraySet(whole, bytes, at);
    at += typedArrayLength(bytes);
  }
  return whole;
}

async function takeApart(body: Payload, { b: lengths, s: hasStream }: EncodedValue): Promise<Parts> {
  const bytes: Uint8Array[] = [];
  if (hasStream && lengths.length === 0) return { bytes, stream: streamOf(body) };
  const source = new Source(body);
  for (let i = 0; i < lengths.length; i++) arrayPush(bytes, await source.take(lengths[i] ?? 0));
  return { bytes, stream: hasStream ? source.rest() : undefined };
}

function streamOf(body: Payload): ReadableStream {
  if (body !== null && !isUint8Array(body)) return body;
  let rest: Uint8Array | undefined = body !== null && typedArrayLength(body) > 0 ? body : undefined;
  return createByteStream({
    pull() {
      const chunk = rest;
      rest = undefined;
      return chunk;
    },
  });
}

class Source {
  readonly #reader: ByteReader | undefined;
  #chunk: Uint8Array;

  constructor(body: Payload) {
    const isStream = body !== null && !isUint8Array(body);
    this.#reader = isStream ? new ByteReader(body) : undefined;
    this.#chunk = isStream || body === null ? new Uint8ArrayCtor(0) : body;
  }

  /** Takes `length` bytes, in memory of their own. */
  async take(length: number): Promise<Uint8Array> {
    const bytes = new Uint8ArrayCtor(length);
    for (let at = 0; at < length; ) {
      const chunk = await this.#next();
      if (chunk === undefined) throw new TypeErrorCtor('The answer of the application broke off');
      const part = typedArraySubarray(chunk, 0, length - at);
      typedArraySet(bytes, part, at);
      at += typedArrayLength(part);
      this.#chunk = typedArraySubarray(chunk, typedArrayLength(part));
    }
    return bytes;
  }

  rest(): ReadableStream {
    return createByteStream({
      pull: async () => {
        const chunk = await this.#next();
        this.#chunk = new Uint8ArrayCtor(0);
        if (chunk === undefined) return undefined;
        // A copy, because the stream detaches the memory of its chunks.
        const own = new Uint8ArrayCtor(typedArrayLength(chunk));
        typedArraySet(own, chunk);
        return own;
      },
      cancel: reason => this.#reader?.cancel(reason),
    });
  }

  #next(): Promise<Uint8Array | undefined> {
    if (typedArrayLength(this.#chunk) > 0) return promiseResolve(this.#chunk);
    return this.#reader === undefined ? promiseResolve(undefined) : nextOf(this.#reader);
  }
}
