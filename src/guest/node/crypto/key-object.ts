/** Key objects: the key itself is in the host realm. @see https://nodejs.org/api/crypto.html#class-keyobject */
import { isBufferSource } from '../../web/base/buffers.ts';
import { type CryptoKey, isCryptoKey } from '../../web/crypto/crypto-key.ts';
import { codeError, invalidArgType, invalidArgValue } from '../errors.ts';
import { toBytes } from './bytes.ts';
import { call, type KeyObjectDescription, setKeyForm } from './calls.ts';

let pending: { readonly description: KeyObjectDescription; readonly token: Uint8Array } | undefined;

export let isKeyObject: (value: unknown) => value is KeyObject;
export let descriptionOf: (key: KeyObject) => KeyObjectDescription;

export class KeyObject {
  readonly #description: KeyObjectDescription;
  /** While this lives, so does the key in the host realm. */
  readonly #token: Uint8Array;

  constructor(type?: unknown) {
    if (pending === undefined) {
      if (type !== 'secret' && type !== 'public' && type !== 'private') throw invalidArgValue('type', type);
      throw invalidArgType('handle', 'object', undefined);
    }
    this.#description = pending.description;
    this.#token = pending.token;
    pending = undefined;
  }

  static from(key: unknown): KeyObject {
    if (!isCryptoKey(key)) throw invalidArgType('key', 'CryptoKey', key);
    return call('fromCryptoKey', key) as KeyObject; // what the call answers
  }

  get type(): string {
    void this.#token;
    return this.#description.type;
  }

  equals(other: unknown): boolean {
    if (!isKeyObject(other)) throw invalidArgType('otherKeyObject', 'KeyObject', other);
    if (other.type !== this.type) return false;
    return call('keyObjectEquals', this, other) === true;
  }

  get [Symbol.toStringTag](): string {
    return 'KeyObject';
  }

  static {
    isKeyObject = (value): value is KeyObject => typeof value === 'object' && value !== null && #description in value;
    descriptionOf = key => key.#description;
  }
}

export class SecretKeyObject extends KeyObject {
  get symmetricKeySize(): number | undefined {
    return descriptionOf(this).size;
  }

  export(options?: unknown): unknown {
    if (options !== undefined) {
      if (typeof options !== 'object' || options === null) throw invalidArgType('options', 'Object', options);
      const { format } = options as { format?: unknown }; // read as unknown and checked
      if (format === 'jwk') return call('exportKeyObject', this, { format });
      if (format !== undefined && format !== 'buffer')
        throw invalidArgValue('options.format', format, "must be one of: undefined, 'buffer', 'jwk'");
    }
    return call('exportKeyObject', this);
  }
}

abstract class AsymmetricKeyObject extends KeyObject {
  get asymmetricKeyType(): string | undefined {
    return descriptionOf(this).kind;
  }

  get asymmetricKeyDetails(): object {
    return { ...Object(descriptionOf(this).details) };
  }

  export(options?: unknown): unknown {
    if (typeof options !== 'object' || options === null) throw invalidArgType('options', 'Object', options);
    const { format, passphrase } = options as { format?: unknown; passphrase?: unknown }; // read as unknown and checked by Node
    if (format === 'jwk' && passphrase !== undefined) {
      throw codeError(
        Error,
        'ERR_CRYPTO_INCOMPATIBLE_KEY_OPTIONS',
        'The selected key encoding jwk does not support encryption.',
      );
    }
    return call('exportKeyObject', this, options);
  }
}

export class PublicKeyObject extends AsymmetricKeyObject {}

export class PrivateKeyObject extends AsymmetricKeyObject {}

const CLASSES = { secret: SecretKeyObject, public: PublicKeyObject, private: PrivateKeyObject };

setKeyForm(
  value => (isKeyObject(value) ? descriptionOf(value).id : undefined),
  (description, token) => {
    pending = { description, token };
    return new CLASSES[description.type](description.type);
  },
);

/** Node's error leaves out that a text will do. */
const SECRETS = ['ArrayBuffer', 'Buffer', 'TypedArray', 'DataView'];

export function createSecretKey(key: unknown, encoding?: unknown): KeyObject {
  const bytes = toBytes(key, 'key', encoding, SECRETS);
  return call('createSecretKey', bytes) as KeyObject; // what the call answers
}

export function createPublicKey(key: unknown): KeyObject {
  return call('createPublicKey', asymmetric(key)) as KeyObject; // as above
}

export function createPrivateKey(key: unknown): KeyObject {
  return call('createPrivateKey', asymmetric(key)) as KeyObject; // as above
}

function asymmetric(key: unknown): unknown {
  if (typeof key === 'string' || isBufferSource(key) || (typeof key === 'object' && key !== null)) return key;
  throw invalidArgType('key', ['ArrayBuffer', 'Buffer', 'TypedArray', 'DataView', 'string', 'object'], key);
}

export type { CryptoKey };
