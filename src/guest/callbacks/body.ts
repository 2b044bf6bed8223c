/** The body of a call with a value: byte sequences one after the other, then perhaps the bytes of a stream. */
import type { CallbackValue } from '../../bindings/callbacks/wire.ts';
import type { BodyForm } from '../../bindings/function/wire.ts';
import {
  arrayPush,
  promiseResolve,
  TypeErrorCtor,
  typedArrayLength,
  typedArraySet,
  typedArraySubarray,
  Uint8ArrayCtor,
} from '../primordials.ts';
import { encodeUtf8 } from '../utf8.ts';
import { isUint8Array } from '../web/base/buffers.ts';
import { ByteReader, createByteStream } from '../web/streams/byte-streams.ts';
import type { ReadableStream } from '../web/streams/streams.ts';
import type { Parts } from './decode.ts';

export type CallbackPayload = Uint8Array | ReadableStream | null;

/** A body that comes in chunks. */
export interface ChunkReader {
  /** The next chunk; undefined at the end. */
  next(): Promise<Uint8Array | undefined>;
  cancel(reason: unknown): void;
}

/** The text and byte sequences of a value as one body. */
export function valueBody(
  text: string,
  bytes: readonly (Uint8Array | undefined)[],
  stream: ReadableStream | undefined,
): { readonly form: BodyForm; readonly body: CallbackPayload } {
  const sequences: Uint8Array[] = [encodeUtf8(text)];
  for (let i = 0; i < bytes.length; i++) arrayPush(sequences, bytes[i] as Uint8Array); // the index is in range
  const lengths: number[] = [];
  for (let i = 0; i < sequences.length; i++) arrayPush(lengths, typedArrayLength(sequences[i]));
  const form = stream === undefined ? { b: lengths } : { b: lengths, s: true };
  return { form, body: bodyOf(sequences, stream) };
}

/** The given bytes in order, then the bytes of the stream. */
export function bodyOf(bytes: readonly Uint8Array[], stream: ReadableStream | undefined): CallbackPayload {
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
async function nextOf(reader: ChunkReader): Promise<Uint8Array | undefined> {
  for (;;) {
    const chunk = await reader.next();
    if (chunk === undefined || typedArrayLength(chunk) > 0) return chunk;
  }
}

export function concat(sequences: readonly Uint8Array[]): Uint8Array | null {
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

export async function takeApart(
  body: CallbackPayload,
  { b: lengths, s: hasStream }: Omit<CallbackValue, 'v'>,
): Promise<Parts> {
  const bytes: Uint8Array[] = [];
  if (hasStream && lengths.length === 0) return { bytes, stream: streamOf(body) };
  const isStream = body !== null && !isUint8Array(body);
  const source = new Source(isStream ? null : body, isStream ? new ByteReader(body) : undefined);
  for (let i = 0; i < lengths.length; i++) arrayPush(bytes, await source.take(lengths[i] ?? 0));
  return { bytes, stream: hasStream ? source.rest() : undefined };
}

function streamOf(body: CallbackPayload): ReadableStream {
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

/** Bytes that are taken in pieces. */
export class Source {
  readonly #reader: ChunkReader | undefined;
  #chunk: Uint8Array;

  constructor(first: Uint8Array | null, reader: ChunkReader | undefined) {
    this.#reader = reader;
    this.#chunk = first ?? new Uint8ArrayCtor(0);
  }

  /** Takes `length` bytes, in memory of their own. */
  async take(length: number): Promise<Uint8Array> {
    const bytes = new Uint8ArrayCtor(length);
    for (let at = 0; at < length; ) {
      const chunk = await this.#next();
      if (chunk === undefined) throw new TypeErrorCtor('The body of the call broke off');
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
