import { createHash } from 'node:crypto';
import type { ChunkSeed } from './authenticate.js';
import { S3Error } from './wire/errors.js';
import { EMPTY_SHA256, isSameSignature, sign } from './wire/signature.js';

/**
 * Decodes `aws-chunked` bodies as they flow. A chunk is passed on before its signature is known; the error at its end fails the whole body, and no part of a
 * body that fails is ever stored. https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-streaming.html and sigv4-streaming-trailers.html
 */

export interface ChunkedOptions {
  /** null: chunks are not signed. */
  readonly seed: ChunkSeed | null;
  readonly hasTrailer: boolean;
  /** Called with the trailer once, before the body ends; names are in lower case. */
  readonly onTrailer: (trailer: ReadonlyMap<string, string>) => void;
}

const LINE_BYTES = 1024;
const TRAILER_BYTES = 4096;
const SMALLEST_SIGNED_CHUNK = 8192;
const TRAILER_SIGNATURE = 'x-amz-trailer-signature';
const CR = 13;
const LF = 10;

/** Throws S3Error: IncompleteBody, SignatureDoesNotMatch, InvalidChunkSizeError, MalformedTrailerError. */
export async function* decodeChunked(
  source: AsyncIterable<Uint8Array>,
  options: ChunkedOptions,
): AsyncGenerator<Uint8Array, void, undefined> {
  const reader = new ChunkReader(source);
  const chain = options.seed === null ? null : new SignatureChain(options.seed);
  let isSmallSeen = false;
  try {
    for (;;) {
      const { size, signature } = parseChunkHeader(await reader.line());
      if (chain !== null && size > 0) {
        if (isSmallSeen) throw new S3Error('InvalidChunkSizeError');
        isSmallSeen = size < SMALLEST_SIGNED_CHUNK;
      }
      chain?.begin();
      for (let left = size; left > 0; ) {
        const bytes = await reader.take(left);
        left -= bytes.length;
        chain?.update(bytes);
        yield bytes;
      }
      chain?.end(signature);
      if (size === 0) break;
      await reader.newline();
    }
    readTrailer(await reader.rest(), options, chain);
  } finally {
    await reader.cancel();
  }
}

function parseChunkHeader(line: string): { size: number; signature: string } {
  const match = /^([0-9A-Fa-f]{1,10})(?:;chunk-signature=([0-9a-f]{64}))?$/.exec(line);
  if (match === null) {
    throw new S3Error('IncompleteBody', `The chunk header ${JSON.stringify(line.slice(0, 120))} is malformed.`);
  }
  return { size: Number.parseInt(match[1] ?? '', 16), signature: match[2] ?? '' };
}

function readTrailer(text: string, options: ChunkedOptions, chain: SignatureChain | null): void {
  const trailer = new Map<string, string>();
  for (const line of text.split(/\r?\n/)) {
    if (line.trim() === '') continue;
    const colon = line.indexOf(':');
    const name = line.slice(0, colon).trim().toLowerCase();
    if (!options.hasTrailer || colon < 1 || trailer.has(name)) throw new S3Error('MalformedTrailerError');
    trailer.set(name, line.slice(colon + 1).trim());
  }
  if (options.hasTrailer && chain !== null) {
    const signature = trailer.get(TRAILER_SIGNATURE) ?? '';
    trailer.delete(TRAILER_SIGNATURE);
    chain.endTrailer([...trailer].map(([name, value]) => `${name}:${value}\n`).join(''), signature);
  }
  options.onTrailer(trailer);
}

/** Each signature signs its chunk and the signature before it, so chunks can be neither changed nor moved. */
class SignatureChain {
  readonly #seed: ChunkSeed;
  #previous: string;
  #hash = createHash('sha256');

  constructor(seed: ChunkSeed) {
    this.#seed = seed;
    this.#previous = seed.signature;
  }

  begin(): void {
    this.#hash = createHash('sha256');
  }

  update(bytes: Uint8Array): void {
    this.#hash.update(bytes);
  }

  end(signature: string): void {
    this.#check('AWS4-HMAC-SHA256-PAYLOAD', `${EMPTY_SHA256}\n${this.#hash.digest('hex')}`, signature, 'a chunk');
  }

  endTrailer(canonical: string, signature: string): void {
    const hash = createHash('sha256').update(canonical, 'latin1').digest('hex');
    this.#check('AWS4-HMAC-SHA256-TRAILER', hash, signature, 'the trailer');
  }

  #check(algorithm: string, text: string, signature: string, what: string): void {
    const { context } = this.#seed;
    const head = `${algorithm}\n${context.dateTime}\n${context.scope}\n${this.#previous}`;
    const expected = sign(context, `${head}\n${text}`);
    if (!isSameSignature(expected, signature)) {
      throw new S3Error('SignatureDoesNotMatch', `The signature of ${what} does not match.`);
    }
    this.#previous = expected;
  }
}

/** Reads lines and counted bytes; holds at most one chunk of the source and one line. */
class ChunkReader {
  readonly #source: AsyncIterator<Uint8Array>;
  #piece: Uint8Array = new Uint8Array(0);
  #at = 0;

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  /** 1 to `most` bytes. */
  async take(most: number): Promise<Uint8Array> {
    if (!(await this.#fill())) throw new S3Error('IncompleteBody', 'The body ends inside a chunk.');
    const bytes = this.#piece.subarray(this.#at, this.#at + most);
    this.#at += bytes.length;
    return bytes;
  }

  /** Up to CR LF, without it. */
  async line(): Promise<string> {
    let line = '';
    for (;;) {
      if (!(await this.#fill())) throw new S3Error('IncompleteBody', 'The body ends without its last chunk.');
      const end = this.#piece.indexOf(LF, this.#at);
      const bytes = this.#piece.subarray(this.#at, end < 0 ? undefined : end);
      if (line.length + bytes.length > LINE_BYTES) throw new S3Error('IncompleteBody', 'A chunk header is too long.');
      line += Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
      this.#at += bytes.length;
      if (end < 0) continue;
      this.#at++;
      if (!line.endsWith('\r')) throw new S3Error('IncompleteBody', 'A chunk header does not end with CR LF.');
      return line.slice(0, -1);
    }
  }

  async newline(): Promise<void> {
    for (const expected of [CR, LF]) {
      if ((await this.take(1))[0] !== expected) {
        throw new S3Error('IncompleteBody', 'A chunk has another size than its header says.');
      }
    }
  }

  async rest(): Promise<string> {
    let text = '';
    while (await this.#fill()) {
      const bytes = this.#piece.subarray(this.#at);
      if (text.length + bytes.length > TRAILER_BYTES)
        throw new S3Error('MalformedTrailerError', 'The trailer is too long.');
      text += Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
      this.#at = this.#piece.length;
    }
    return text;
  }

  async cancel(): Promise<void> {
    await this.#source.return?.();
  }

  async #fill(): Promise<boolean> {
    while (this.#at >= this.#piece.length) {
      const next = await this.#source.next();
      if (next.done === true) return false;
      this.#piece = next.value;
      this.#at = 0;
    }
    return true;
  }
}
