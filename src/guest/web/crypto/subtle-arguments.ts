/**
 * Arguments of SubtleCrypto on their way to the host realm: JSON, in which bytes are ranges of one array and keys are numbers.
 * The members of algorithms are read here, once and in order, as dictionaries are; what they must be is Node's to check.
 */
import {
  arrayPush,
  jsonStringify,
  numberIsNaN,
  objectCreate,
  objectKeys,
  SetCtor,
  setHas,
  stringToUpperCase,
  TypeErrorCtor,
  typedArrayLength,
  typedArraySet,
  Uint8ArrayCtor,
} from '../../primordials.ts';
import { bytesOf } from '../base/buffer-source.ts';
import { isBufferSource } from '../base/buffers.ts';
import { DOMException } from '../base/dom-exception.ts';
import { isObject, quoted, toDictionary, toDOMString, toSequence } from '../base/idl.ts';
import { isCryptoKey, keyId } from './crypto-key.ts';

const BYTES = 0;
const NUMBER = 1;
const TEXT = 2;
const KEY = 3;
const ALGORITHM = 4;

/** The members of all dictionaries that inherit from Algorithm. Their names mean the same in each. */
const MEMBERS: readonly (readonly [string, number])[] = [
  ['additionalData', BYTES],
  ['associatedData', BYTES],
  ['context', BYTES],
  ['counter', BYTES],
  ['customization', BYTES],
  ['domainSeparation', NUMBER],
  ['functionName', BYTES],
  ['hash', ALGORITHM],
  ['info', BYTES],
  ['iterations', NUMBER],
  ['iv', BYTES],
  ['label', BYTES],
  ['length', NUMBER],
  ['memory', NUMBER],
  ['modulusLength', NUMBER],
  ['namedCurve', TEXT],
  ['nonce', BYTES],
  ['outputLength', NUMBER],
  ['parallelism', NUMBER],
  ['passes', NUMBER],
  ['public', KEY],
  ['publicExponent', BYTES],
  ['salt', BYTES],
  ['saltLength', NUMBER],
  ['secretValue', BYTES],
  ['tagLength', NUMBER],
  ['version', NUMBER],
];

/** Algorithms whose dictionaries are finished, so that other members mean nothing. A newer algorithm may get members that change its result. */
const FINISHED = new SetCtor([
  ...['AES-CBC', 'AES-CTR', 'AES-GCM', 'AES-KW', 'ECDH', 'ECDSA', 'ED25519', 'HKDF', 'HMAC', 'MD5', 'PBKDF2'],
  ...['RSA-OAEP', 'RSA-PSS', 'RSASSA-PKCS1-V1_5', 'SHA-1', 'SHA-256', 'SHA-384', 'SHA-512', 'X25519'],
]);

/** @see https://w3c.github.io/webcrypto/#JsonWebKey-dictionary */
const JWK_TEXTS = ['alg', 'crv', 'd', 'dp', 'dq', 'e', 'k', 'kty', 'n', 'p', 'priv', 'pub', 'q', 'qi', 'use', 'x', 'y'];

type Encoded = string | number | boolean | null | { readonly [tag: string]: unknown };

const NOTHING: Encoded = { u: 1 };
const INVALID: Encoded = { x: 1 };

/** Collects the bytes of one operation. */
export class SubtleArguments {
  readonly #chunks: Uint8Array[] = [];
  readonly #encoded: Encoded[] = [];
  #total = 0;

  add(value: Encoded): void {
    arrayPush(this.#encoded, value);
  }

  addText(value: unknown): void {
    this.add(toDOMString(value));
  }

  addBytes(value: unknown, what: string): void {
    this.add(this.#bytes(bytesOf(value, what)));
  }

  addKey(value: unknown, what: string): void {
    if (!isCryptoKey(value)) throw new TypeErrorCtor(`${what} is not a CryptoKey`);
    this.add({ k: keyId(value) });
  }

  /** `AlgorithmIdentifier`: an object or a name. */
  addAlgorithm(value: unknown): void {
    this.add(this.#algorithm(value));
  }

  addUsages(value: unknown): void {
    this.add(toSequence(value, toDOMString, 'The list of usages') as never); // strings are JSON
  }

  addNumber(value: unknown): void {
    this.add(value === null ? null : number(value));
  }

  /** Key data for a format: a JsonWebKey or bytes. */
  addKeyData(format: string, value: unknown): void {
    if (format !== 'jwk') {
      this.addBytes(value, 'The key data');
      return;
    }
    if (!isObject(value) || isBufferSource(value)) throw new TypeErrorCtor('The key data is not a JsonWebKey');
    this.add({ o: readJwk(value) });
  }

  get json(): string {
    return jsonStringify(this.#encoded);
  }

  get bytes(): Uint8Array | undefined {
    if (this.#total === 0) return undefined;
    const [first] = this.#chunks;
    if (this.#chunks.length === 1 && first !== undefined) return first;
    const all = new Uint8ArrayCtor(this.#total);
    let offset = 0;
    for (let i = 0; i < this.#chunks.length; i++) {
      const chunk = this.#chunks[i];
      if (chunk === undefined) continue;
      typedArraySet(all, chunk, offset);
      offset += typedArrayLength(chunk);
    }
    return all;
  }

  #bytes(chunk: Uint8Array): Encoded {
    const length = typedArrayLength(chunk);
    const start = this.#total;
    if (length > 0) arrayPush(this.#chunks, chunk);
    this.#total += length;
    return { b: [start, length] };
  }

  /** `isHash`: of another algorithm, so that it has none itself. */
  #algorithm(value: unknown, isHash = false): Encoded {
    if (!isObject(value)) return toDOMString(value);
    const source = value as { readonly [member: string]: unknown }; // every object can be read from
    const { name } = source;
    if (name === undefined) throw new TypeErrorCtor(isHash ? 'The hash has no name' : 'The algorithm has no name');
    const members: { [member: string]: Encoded } = objectCreate(null);
    const text = toDOMString(name);
    members.name = text;
    for (let i = 0; i < MEMBERS.length; i++) {
      const [member, kind] = MEMBERS[i] ?? ['', TEXT];
      if (isHash && kind === ALGORITHM) continue;
      const item = source[member];
      if (item !== undefined) members[member] = this.#member(item, kind);
    }
    if (!setHas(FINISHED, stringToUpperCase(text))) checkMembers(source, text);
    return { o: members };
  }

  #member(value: unknown, kind: number): Encoded {
    switch (kind) {
      case BYTES:
        return isBufferSource(value) ? this.#bytes(bytesOf(value, 'A member of the algorithm')) : INVALID;
      case NUMBER:
        return number(value);
      case KEY:
        return isCryptoKey(value) ? { k: keyId(value) } : INVALID;
      case ALGORITHM:
        return this.#algorithm(value, true);
      default:
        return toDOMString(value);
    }
  }
}

/** A member that is silently ignored could change the result, and nobody would notice. */
function checkMembers(source: object, algorithm: string): void {
  const names = objectKeys(source);
  for (let i = 0; i < names.length; i++) {
    const name = names[i] ?? '';
    let isKnown = name === 'name';
    for (let j = 0; j < MEMBERS.length && !isKnown; j++) isKnown = MEMBERS[j]?.[0] === name;
    if (!isKnown) {
      throw new DOMException(
        `The algorithm ${quoted(algorithm)} has a member ${quoted(name)}, which is not supported`,
        'NotSupportedError',
      );
    }
  }
}

/** JSON has neither NaN nor infinities, which Node shall refuse. */
function number(value: unknown): Encoded {
  if (value === undefined) return NOTHING;
  const converted = +(value as number); // unary plus is ToNumber for every value
  return numberIsNaN(converted) || converted - converted !== 0 ? { n: `${converted}` } : converted;
}

function readJwk(value: object): { [member: string]: unknown } {
  const source = toDictionary(value, 'The key data') ?? {};
  const jwk: { [member: string]: unknown } = objectCreate(null);
  for (let i = 0; i < JWK_TEXTS.length; i++) {
    const name = JWK_TEXTS[i] ?? '';
    const text = source[name];
    if (text !== undefined) jwk[name] = toDOMString(text);
  }
  const { ext, key_ops: operations, oth } = source;
  if (ext !== undefined) jwk.ext = !!ext;
  if (operations !== undefined) jwk.key_ops = toSequence(operations, toDOMString, 'key_ops');
  if (oth !== undefined) jwk.oth = [];
  return jwk;
}
