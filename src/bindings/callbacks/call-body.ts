/** The body of a call: byte sequences one after the other, then the bytes of a stream. */
import { Readable } from 'node:stream';
import { chunksOf } from '../bodies/external-stream.js';
import type { GivenBodySource } from '../bodies/given-body.js';
import { inPieces } from '../bodies/in-pieces.js';
import type { BodyForm } from '../function/wire.js';
import type { ServiceBody } from '../service.js';
import { type ByteStream, encodeValue } from './encode.js';

/** The body of a call, taken apart. */
export interface CallBody {
  readonly bytes: readonly Uint8Array<ArrayBuffer>[];
  readonly stream: ReadableStream<Uint8Array> | undefined;
  /** Ends the stream, without the part that has not been read. */
  end(): void;
}

/** The rest of a body as a stream, and what ends it. */
export interface CallStream {
  readonly stream: ReadableStream<Uint8Array>;
  /** A reader that is not at its end gets the error. */
  fail(error: Error): void;
}

/** The rest of the body: nothing, bytes that nobody reads until the call ends, or a stream that the given function makes. */
export type Rest = 'nothing' | 'held' | ((source: GivenBodySource) => CallStream);

/** @throws TypeError when the body is not as long as the lengths say */
export async function takeApart(body: ServiceBody | null, lengths: readonly number[], rest: Rest): Promise<CallBody> {
  const source = new ByteSource(body);
  const bytes: Uint8Array<ArrayBuffer>[] = [];
  try {
    for (const length of lengths) bytes.push(await source.take(length));
    if (rest === 'held') return { bytes, stream: undefined, end: () => source.end() };
    if (rest !== 'nothing') return { bytes, ...streamOf(source, rest) };
    if (!(await source.isAtEnd())) throw tooLong();
    return { bytes, stream: undefined, end: () => {} };
  } catch (error) {
    source.end();
    throw error;
  }
}

function streamOf(source: ByteSource, give: (source: GivenBodySource) => CallStream): Omit<CallBody, 'bytes'> {
  const { stream, fail } = give(source.rest());
  const end = (): void => {
    source.end();
    // A reader must not mistake the bytes so far for the whole body.
    fail(new Error('The call that the stream belongs to is over'));
  };
  return { stream, end };
}

class ByteSource {
  readonly #chunks: AsyncIterator<Uint8Array> | undefined;
  #chunk: Uint8Array;
  #isFinished = false;

  constructor(body: ServiceBody | null) {
    const isWhole = body === null || body instanceof Uint8Array;
    this.#chunk = body instanceof Uint8Array ? body : new Uint8Array();
    this.#chunks = isWhole ? undefined : body[Symbol.asyncIterator]();
  }

  /** Takes exactly `length` bytes, in memory of their own. */
  async take(length: number): Promise<Uint8Array<ArrayBuffer>> {
    const bytes = new Uint8Array(length);
    for (let at = 0; at < length; ) {
      const chunk = await this.#next();
      if (chunk === undefined) throw tooShort();
      const part = chunk.subarray(0, length - at);
      bytes.set(part, at);
      at += part.length;
      this.#chunk = chunk.subarray(part.length);
    }
    return bytes;
  }

  async isAtEnd(): Promise<boolean> {
    return (await this.#next()) === undefined;
  }

  /** The rest, which is read only when it is asked for. */
  rest(): GivenBodySource {
    return {
      next: async () => {
        const chunk = await this.#next();
        this.#chunk = new Uint8Array();
        // A copy: the stream takes the memory of its chunks away, and this may be part of a larger one.
        return chunk && new Uint8Array(chunk);
      },
      cancel: () => this.end(),
    };
  }

  /** No more is read. How the source takes it is its own matter. */
  end(): void {
    this.#isFinished = true;
    this.#chunks?.return?.()?.then(undefined, () => {});
  }

  /** The bytes that have arrived and have not been taken, without empty chunks; undefined at the end. */
  async #next(): Promise<Uint8Array | undefined> {
    while (this.#chunk.length === 0) {
      if (this.#isFinished || this.#chunks === undefined) return undefined;
      const { done, value } = await this.#chunks.next();
      if (done === true) {
        this.#isFinished = true;
        return undefined;
      }
      this.#chunk = value;
    }
    return this.#chunk;
  }
}

/** A value as it travels with a call of a function: its JSON and its byte sequences are the body. @param what names the value in errors */
export function valueBody(
  value: unknown,
  what: string,
): { readonly form: BodyForm; readonly body: ServiceBody | null } {
  const { json, bytes, stream } = encodeValue(value, what);
  const sequences = [Buffer.from(JSON.stringify(json)), ...bytes];
  const form: BodyForm = {
    b: sequences.map(({ byteLength }) => byteLength),
    ...(stream !== undefined && { s: true }),
  };
  return { form, body: putTogether(sequences, stream, () => {}) };
}

/** The body of an answer; null when there is nothing to send. `onEnd` is called when a stream of it is over. */
export function putTogether(
  bytes: readonly Uint8Array[],
  stream: ByteStream | undefined,
  onEnd: () => void,
): ServiceBody | null {
  if (stream === undefined) return bytes.length === 0 ? null : Buffer.concat(bytes);
  const chunks = stream instanceof Readable ? readableChunks(stream) : chunksOf(stream)[Symbol.asyncIterator]();
  const waiting = bytes.filter(({ byteLength }) => byteLength > 0);
  const iterator: AsyncIterator<Uint8Array> = {
    async next() {
      const first = waiting.shift();
      if (first !== undefined) return { done: false, value: first };
      try {
        const { done, value } = await chunks.next();
        if (done !== true) return { done: false, value: bytesOf(value) };
      } catch (error) {
        await iterator.return?.();
        throw error;
      }
      onEnd();
      return { done: true, value: undefined };
    },
    async return() {
      onEnd();
      await chunks.return?.();
      return { done: true, value: undefined };
    },
  };
  return { [Symbol.asyncIterator]: () => inPieces(iterator) };
}

/** Unlike the stream's own iterator, `return()` ends it at once, also while a chunk is awaited. */
function readableChunks(stream: Readable): AsyncIterator<unknown> {
  const source = stream[Symbol.asyncIterator]();
  return {
    next: () => source.next(),
    async return() {
      // The stream has been given up, so an error while it ends is ignored.
      stream.on('error', () => {}).destroy();
      return { done: true, value: undefined };
    },
  };
}

function bytesOf(chunk: unknown): Uint8Array {
  if (chunk instanceof Uint8Array) return chunk;
  if (typeof chunk === 'string') return Buffer.from(chunk);
  throw new TypeError(`The stream that the application answered has a chunk of type ${typeof chunk}, expected bytes`);
}

function tooShort(): TypeError {
  return new TypeError('The body of the call is shorter than its arguments say');
}

function tooLong(): TypeError {
  return new TypeError('The body of the call is longer than its arguments say');
}
