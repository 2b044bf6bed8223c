/** Hash and Hmac. @see https://nodejs.org/api/crypto.html#class-hash */
import { Buffer } from '../buffer/buffer.ts';
import type { NodeBuffer } from '../buffer/node-buffer.ts';
import { checkString, codeError, invalidArgType } from '../errors.ts';
import { BYTES, encoded, toBytes, VIEWS } from './bytes.ts';
import { call, callKept, finish, type Kept, update } from './calls.ts';
import { keyArgument } from './key-arguments.ts';
import { LazyTransform } from './lazy-transform.ts';

function finalized(): Error {
  return codeError(Error, 'ERR_CRYPTO_HASH_FINALIZED', 'Digest already called');
}

export class Hash extends LazyTransform {
  #kept: Kept | undefined;

  constructor(algorithm: unknown, options?: unknown) {
    super(options);
    if (algorithm instanceof Hash) {
      if (algorithm.#kept === undefined) throw finalized();
      this.#kept = callKept('copyHash', algorithm.#kept.id, outputLengthOf(options));
      return;
    }
    checkString(algorithm, 'algorithm');
    this.#kept = callKept('createHash', algorithm, outputLengthOf(options));
  }

  copy(options?: unknown): Hash {
    if (this.#kept === undefined) throw finalized();
    return new Hash(this, options);
  }

  update(data: unknown, encoding?: unknown): this {
    if (this.#kept === undefined) throw finalized();
    update(this.#kept, toBytes(data, 'data', encoding, VIEWS));
    return this;
  }

  digest(encoding?: unknown): NodeBuffer | string {
    if (this.#kept === undefined) throw finalized();
    const kept = this.#kept;
    this.#kept = undefined;
    return encoded(finish(kept), encoding);
  }

  _transform(chunk: unknown, encoding: unknown, callback: () => void): void {
    this.update(chunk, encoding);
    callback();
  }

  _flush(callback: () => void): void {
    this.push(this.digest());
    callback();
  }
}

function outputLengthOf(options: unknown): object | undefined {
  if (typeof options !== 'object' || options === null) return undefined;
  const { outputLength } = options as { outputLength?: unknown }; // read as unknown and checked by Node
  return outputLength === undefined ? undefined : { outputLength };
}

export class Hmac extends LazyTransform {
  #kept: Kept | undefined;

  constructor(algorithm: unknown, key: unknown, options?: unknown) {
    super(options);
    checkString(algorithm, 'hmac');
    this.#kept = callKept('createHmac', algorithm, keyArgument(key, 'key'));
  }

  update(data: unknown, encoding?: unknown): this {
    if (this.#kept === undefined) throw finalized();
    update(this.#kept, toBytes(data, 'data', encoding, VIEWS));
    return this;
  }

  /** The second call of Node's answers nothing, and fails not. */
  digest(encoding?: unknown): NodeBuffer | string {
    const kept = this.#kept;
    this.#kept = undefined;
    return encoded(kept === undefined ? Buffer.alloc(0) : finish(kept), encoding);
  }

  _transform(chunk: unknown, encoding: unknown, callback: () => void): void {
    this.update(chunk, encoding);
    callback();
  }

  _flush(callback: () => void): void {
    this.push(this.digest());
    callback();
  }
}

/** crypto.hash(): in one call. */
export function hash(algorithm: unknown, data: unknown, encoding: unknown = 'hex'): NodeBuffer | string {
  checkString(algorithm, 'algorithm');
  if (typeof encoding === 'object' && encoding !== null) {
    const { outputEncoding = 'hex', outputLength } = encoding as { outputEncoding?: unknown; outputLength?: unknown }; // checked by Node
    return new Hash(algorithm, { outputLength }).update(toInput(data)).digest(outputEncoding);
  }
  return new Hash(algorithm).update(toInput(data)).digest(encoding);
}

function toInput(data: unknown): Uint8Array {
  if (typeof data !== 'string' && !ArrayBuffer.isView(data))
    throw invalidArgType('input', ['string', 'Buffer', 'TypedArray', 'DataView'], data);
  return toBytes(data, 'input', 'utf8', BYTES);
}

let hashNames: readonly string[] | undefined;

export function getHashes(): string[] {
  hashNames ??= call('getHashes') as string[]; // a list of names
  return [...hashNames];
}
