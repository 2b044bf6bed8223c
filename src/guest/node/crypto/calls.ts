/**
 * Calls of the host realm's node:crypto. Arguments become JSON in which bytes are ranges of one array, and keys are numbers. See
 * src/isolate/ops/node/crypto/values.ts for the other end.
 */

import { Op } from '../../../isolate/ops/table.ts';
import { op, opAsync, takeBytes } from '../../bridge.ts';
import { copyOf, isBufferSource, viewOf } from '../../web/base/buffers.ts';
import { isCryptoKey, keyId } from '../../web/crypto/crypto-key.ts';
import { Buffer } from '../buffer/buffer.ts';
import type { NodeBuffer } from '../buffer/node-buffer.ts';

/** A key object of the host realm, as it describes it. */
export interface KeyObjectDescription {
  readonly id: number;
  readonly type: 'secret' | 'public' | 'private';
  readonly size?: number;
  readonly kind?: string;
  readonly details?: unknown;
}

type Encoded = string | number | boolean | null | readonly Encoded[] | { readonly [tag: string]: unknown };

/** As deep as the host realm reads. */
const MAX_DEPTH = 5;

let keyOf: (value: object) => number | undefined = () => undefined;
let createKey: (description: KeyObjectDescription, token: Uint8Array) => unknown;

/** How key objects of the guest are found and made, by key-object.ts. */
export function setKeyForm(find: typeof keyOf, create: typeof createKey): void {
  keyOf = find;
  createKey = create;
}

class Arguments {
  readonly #chunks: Uint8Array[] = [];
  #total = 0;

  encode(value: unknown, depth = 0): Encoded {
    if (value === undefined || typeof value === 'function' || typeof value === 'symbol') return { u: 1 };
    if (typeof value === 'bigint') return { i: `${value}` };
    if (typeof value === 'number') return Number.isFinite(value) ? value : { n: `${value}` };
    if (typeof value !== 'object' || value === null) return value as string | boolean | null; // nothing else is left
    if (isBufferSource(value)) return this.#bytes(viewOf(value));
    const id = keyOf(value);
    if (id !== undefined) return { k: id };
    if (isCryptoKey(value)) return { c: keyId(value) };
    if (depth > MAX_DEPTH) return { u: 1 };
    if (Array.isArray(value)) return value.map(item => this.encode(item, depth + 1));
    const members: { [name: string]: unknown } = Object.create(null);
    for (const name of Object.keys(value)) {
      const member = (value as { readonly [name: string]: unknown })[name]; // every object can be read from
      if (member !== undefined) members[name] = this.encode(member, depth + 1);
    }
    return { o: members };
  }

  #bytes(bytes: Uint8Array): Encoded {
    const start = this.#total;
    this.#chunks.push(bytes);
    this.#total += bytes.byteLength;
    return { b: [start, bytes.byteLength] };
  }

  get bytes(): Uint8Array | undefined {
    if (this.#chunks.length === 0) return undefined;
    const [first] = this.#chunks;
    if (this.#chunks.length === 1 && first !== undefined)
      return new Uint8Array(first.buffer, first.byteOffset, first.byteLength);
    const all = new Uint8Array(this.#total);
    let at = 0;
    for (const chunk of this.#chunks) {
      all.set(chunk, at);
      at += chunk.byteLength;
    }
    return all;
  }
}

function decode(value: unknown, token: Uint8Array): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(item => decode(item, token));
  if ('i' in value) return BigInt(value.i as string); // the host wrote it
  if ('b' in value) return Buffer.from(value.b as string, 'base64'); // as above
  if ('k' in value) return createKey(decodeKey(value.k as KeyObjectDescription, token), token); // as above
  const members: { [name: string]: unknown } = {};
  const given = Object.entries(Object('o' in value ? value.o : {}));
  for (const [name, member] of given) {
    Object.defineProperty(members, name, {
      value: decode(member, token),
      enumerable: true,
      writable: true,
      configurable: true,
    });
  }
  return members;
}

function decodeKey(key: KeyObjectDescription, token: Uint8Array): KeyObjectDescription {
  return { ...key, details: decode(key.details, token) };
}

/** A call whose result is there when it returns: bytes as a Buffer, or a value. */
export function call(method: string, ...args: readonly unknown[]): unknown {
  const encoder = new Arguments();
  const json = JSON.stringify(args.map(arg => encoder.encode(arg)));
  const token = new Uint8Array(0);
  const result = op(Op.NodeCrypto, method, json, encoder.bytes, token);
  return typeof result === 'number' ? toBuffer(takeBytes(result)) : decode(JSON.parse(result ?? 'null'), token);
}

/** A call that runs in another thread. */
export async function callAsync(method: string, ...args: readonly unknown[]): Promise<unknown> {
  const encoder = new Arguments();
  const json = JSON.stringify(args.map(arg => encoder.encode(arg)));
  const token = new Uint8Array(0);
  const result = await opAsync(Op.NodeCryptoAsync, method, json, encoder.bytes, token);
  return result instanceof Uint8Array ? toBuffer(result) : decode(JSON.parse(`${result ?? 'null'}`), token);
}

/** An object of the host realm that lives as long as its token. */
export interface Kept {
  readonly id: number;
  readonly token: Uint8Array;
}

/** A call that creates such an object. The answer is its number, or has it as `id`. */
export function callKept(method: string, ...args: readonly unknown[]): Kept & { readonly answer: unknown } {
  const encoder = new Arguments();
  const json = JSON.stringify(args.map(arg => encoder.encode(arg)));
  const token = new Uint8Array(0);
  const result = op(Op.NodeCrypto, method, json, encoder.bytes, token);
  const answer = decode(JSON.parse(`${result ?? 'null'}`), token);
  const id = typeof answer === 'number' ? answer : (answer as { id: number }).id; // the host wrote it
  return { id, token, answer };
}

/** The most that one op takes, since the host realm copies it. */
const PIECE_BYTES = 1024 * 1024;

/** Output of ciphers; empty for all others. */
export function update(object: Kept, bytes: Uint8Array): NodeBuffer {
  if (bytes.byteLength <= PIECE_BYTES) return updatePiece(object, bytes);
  const outputs: NodeBuffer[] = [];
  for (let at = 0; at < bytes.byteLength; at += PIECE_BYTES) {
    outputs.push(updatePiece(object, bytes.subarray(at, at + PIECE_BYTES)));
  }
  return Buffer.concat(outputs);
}

function updatePiece({ id }: Kept, bytes: Uint8Array): NodeBuffer {
  const length = op(Op.NodeCryptoUpdate, id, bytes) as number; // as the op table says
  return length > 0 ? toBuffer(takeBytes(length)) : Buffer.alloc(0);
}

export function finish({ id }: Kept): NodeBuffer {
  const length = op(Op.NodeCryptoFinal, id) as number; // as the op table says
  return toBuffer(takeBytes(length));
}

export function toBuffer(bytes: Uint8Array): NodeBuffer {
  return Buffer.from(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.byteLength); // takeBytes makes it so
}

export { copyOf };
