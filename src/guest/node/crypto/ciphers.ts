/** Cipheriv and Decipheriv, and encryption with a key pair. @see https://nodejs.org/api/crypto.html#class-cipheriv */

import { Buffer } from '../buffer/buffer.ts';
import type { NodeBuffer } from '../buffer/node-buffer.ts';
import { checkString, codeError, invalidArgType } from '../errors.ts';
import { StringDecoder } from '../stream/string-decoder.ts';
import { encoded, toBytes, VIEWS } from './bytes.ts';
import { call, callKept, finish, type Kept, update } from './calls.ts';
import { keyArgument, pairArgument } from './key-arguments.ts';
import { LazyTransform } from './lazy-transform.ts';

/** Both directions: what differs is the authentication tag. */
class CipherBase extends LazyTransform {
  protected kept: Kept | undefined;
  readonly #tagLength: number;
  /** The tag, from the end of encryption on. */
  protected tag: NodeBuffer | undefined;
  #decoder: { write(bytes: Uint8Array): string; end(bytes?: Uint8Array): string } | undefined;
  #encoding: unknown;

  constructor(method: string, algorithm: unknown, key: unknown, iv: unknown, options: unknown) {
    super(options);
    checkString(algorithm, 'cipher');
    const nonce = iv === null ? null : toBytes(iv, 'iv', 'utf8', [...VIEWS, 'null']);
    const authTagLength =
      typeof options === 'object' && options !== null
        ? (options as { authTagLength?: unknown }).authTagLength
        : undefined; // checked by Node
    const kept = callKept(method, algorithm, keyArgument(key, 'key'), nonce, { authTagLength });
    this.kept = kept;
    this.#tagLength = (kept.answer as { tagLength: number }).tagLength; // the host wrote it
  }

  update(data: unknown, inputEncoding?: unknown, outputEncoding?: unknown): NodeBuffer | string {
    const bytes = toBytes(data, 'data', inputEncoding, VIEWS);
    if (this.kept === undefined)
      throw codeError(Error, 'ERR_CRYPTO_INVALID_STATE', 'Invalid state for operation update');
    return this.#text(update(this.kept, bytes), outputEncoding, false);
  }

  final(outputEncoding?: unknown): NodeBuffer | string {
    const { kept } = this;
    if (kept === undefined) throw codeError(Error, 'ERR_CRYPTO_INVALID_STATE', 'Invalid state for operation final');
    this.kept = undefined;
    const bytes = finish(kept);
    if (this.#tagLength > 0) this.tag = bytes.subarray(bytes.length - this.#tagLength);
    return this.#text(bytes.subarray(0, bytes.length - this.#tagLength), outputEncoding, true);
  }

  setAutoPadding(isAutomatic: unknown = true): this {
    if (this.kept === undefined)
      throw codeError(Error, 'ERR_CRYPTO_INVALID_STATE', 'Invalid state for operation setAutoPadding');
    call('setAutoPadding', this.kept.id, !!isAutomatic);
    return this;
  }

  setAAD(data: unknown, options?: unknown): this {
    if (this.kept === undefined)
      throw codeError(Error, 'ERR_CRYPTO_INVALID_STATE', 'Invalid state for operation setAAD');
    call('setAAD', this.kept.id, toBytes(data, 'aadbuf', encodingIn(options)), lengthIn(options));
    return this;
  }

  _transform(chunk: unknown, encoding: unknown, callback: () => void): void {
    this.push(this.update(chunk, encoding));
    callback();
  }

  _flush(callback: (error?: unknown) => void): void {
    try {
      this.push(this.final());
    } catch (error) {
      callback(error);
      return;
    }
    callback();
  }

  /** A character may be in two pieces of output. */
  #text(bytes: NodeBuffer, encoding: unknown, isLast: boolean): NodeBuffer | string {
    if (encoding === undefined || encoding === null || encoding === 'buffer') return bytes;
    if (this.#decoder === undefined) {
      encoded(Buffer.alloc(0), encoding);
      this.#decoder = new StringDecoder(encoding as never); // as checked
      this.#encoding = encoding;
    } else if (encoding !== this.#encoding) {
      throw codeError(Error, 'ERR_INTERNAL_ASSERTION', 'Cannot change encoding');
    }
    return isLast ? this.#decoder.end(bytes) : this.#decoder.write(bytes);
  }
}

function encodingIn(options: unknown): unknown {
  return typeof options === 'object' && options !== null ? (options as { encoding?: unknown }).encoding : undefined; // checked with the text
}

function lengthIn(options: unknown): object | undefined {
  if (typeof options !== 'object' || options === null) return undefined;
  const { plaintextLength } = options as { plaintextLength?: unknown }; // checked by Node
  return plaintextLength === undefined ? undefined : { plaintextLength };
}

export class Cipheriv extends CipherBase {
  constructor(algorithm: unknown, key: unknown, iv: unknown, options?: unknown) {
    super('createCipheriv', algorithm, key, iv, options);
  }

  getAuthTag(): NodeBuffer {
    if (this.tag === undefined)
      throw codeError(Error, 'ERR_CRYPTO_INVALID_STATE', 'Invalid state for operation getAuthTag');
    return Buffer.from(this.tag);
  }
}

export class Decipheriv extends CipherBase {
  constructor(algorithm: unknown, key: unknown, iv: unknown, options?: unknown) {
    super('createDecipheriv', algorithm, key, iv, options);
  }

  setAuthTag(tag: unknown, encoding?: unknown): this {
    if (this.kept === undefined)
      throw codeError(Error, 'ERR_CRYPTO_INVALID_STATE', 'Invalid state for operation setAuthTag');
    call('setAuthTag', this.kept.id, toBytes(tag, 'buffer', encoding));
    return this;
  }
}

export function getCipherInfo(nameOrId: unknown, options?: unknown): unknown {
  if (typeof nameOrId !== 'string' && typeof nameOrId !== 'number')
    throw invalidArgType('nameOrNid', ['string', 'number'], nameOrId);
  const info = call('getCipherInfo', nameOrId, options);
  return info ?? undefined;
}

let cipherNames: readonly string[] | undefined;

export function getCiphers(): string[] {
  cipherNames ??= call('getCiphers') as string[]; // a list of names
  return [...cipherNames];
}

function withKeyPair(method: string): (key: unknown, data: unknown) => unknown {
  return (key, data) => call(method, pairArgument(key), toBytes(data, 'buffer', bufferEncoding(key)));
}

/** The encoding of a text is an option of the key. */
function bufferEncoding(key: unknown): unknown {
  return typeof key === 'object' && key !== null ? (key as { encoding?: unknown }).encoding : undefined; // checked with the text
}

export const publicEncrypt = withKeyPair('publicEncrypt');
export const publicDecrypt = withKeyPair('publicDecrypt');
export const privateEncrypt = withKeyPair('privateEncrypt');
export const privateDecrypt = withKeyPair('privateDecrypt');
