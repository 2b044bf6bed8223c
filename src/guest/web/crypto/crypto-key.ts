/** CryptoKey: a handle; the key itself is in the host realm. @see https://w3c.github.io/webcrypto/#cryptokey-interface */
import { arrayPush, isArray, objectCreate, objectKeys, TypeErrorCtor, Uint8ArrayCtor } from '../../primordials.ts';
import { DOMException } from '../base/dom-exception.ts';
import { defineInterface, isObject } from '../base/idl.ts';
import { registerCloneable } from '../messaging/structured-clone.ts';

/** The host's description of a key that it has created. */
export interface KeyDescription {
  readonly id: number;
  readonly type: string;
  readonly extractable: boolean;
  readonly usages: readonly string[];
  readonly algorithm: object;
}

let pending: KeyDescription | undefined;
let pendingToken: Uint8Array | undefined;

export let isCryptoKey: (value: unknown) => value is CryptoKey;
/** The number of the key in the host realm. */
export let keyId: (key: CryptoKey) => number;
let copyKey: (key: CryptoKey) => CryptoKey;

export class CryptoKey {
  readonly #description: KeyDescription;
  /** While this lives, so does the key in the host realm. */
  readonly #token: Uint8Array;
  #algorithm: object | undefined;
  #usages: string[] | undefined;

  constructor() {
    if (pending === undefined || pendingToken === undefined) throw new TypeErrorCtor('Illegal constructor');
    this.#description = pending;
    this.#token = pendingToken;
    pending = undefined;
    pendingToken = undefined;
  }

  get type(): string {
    return this.#description.type;
  }

  get extractable(): boolean {
    return this.#description.extractable;
  }

  get algorithm(): object {
    this.#algorithm ??= copyAlgorithm(this.#description.algorithm);
    return this.#algorithm;
  }

  get usages(): string[] {
    if (this.#usages === undefined) {
      this.#usages = [];
      const { usages } = this.#description;
      for (let i = 0; i < usages.length; i++) arrayPush(this.#usages, usages[i] ?? '');
    }
    return this.#usages;
  }

  static {
    isCryptoKey = (value): value is CryptoKey => isObject(value) && #description in value;
    keyId = key => key.#description.id;
    copyKey = key => createCryptoKey(key.#description, key.#token);
  }
}

defineInterface(CryptoKey);

export function createCryptoKey(description: KeyDescription, token: Uint8Array): CryptoKey {
  pending = description;
  pendingToken = token;
  return new CryptoKey();
}

/** An ordinary object for function code, with `publicExponent` as bytes. */
function copyAlgorithm(description: object): object {
  const algorithm: { [name: string]: unknown } = objectCreate(Object.prototype);
  const members = description as { readonly [name: string]: unknown }; // parsed from the host's JSON
  const names = objectKeys(members);
  for (let i = 0; i < names.length; i++) {
    const name = names[i] ?? '';
    const value = members[name];
    if (isArray(value)) algorithm[name] = new Uint8ArrayCtor(value);
    else algorithm[name] = isObject(value) ? copyAlgorithm(value) : value;
  }
  return algorithm;
}

registerCloneable({
  is: isCryptoKey,
  clone: value => {
    if (!isCryptoKey(value)) throw new DOMException('The key cannot be cloned', 'DataCloneError');
    return copyKey(value);
  },
});
