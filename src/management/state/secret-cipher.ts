/** Secrets at rest: AES-256-GCM under a key of the host's owner or of the storage, bound to the place they belong to. */

import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import { EdgeError } from '../../quotas/errors.js';

const ALGORITHM = 'aes-256-gcm';
const IV_BYTES = 12;
const TAG_BYTES = 16;
const KEY_BYTES = 32;
const PLAIN = 'plain:';
const SEALED = 'gcm:';

export class SecretCipher {
  #key: Uint8Array | EdgeError;

  /** @param key 32 bytes, or the reason why the key is missing */
  constructor(key: Uint8Array | EdgeError) {
    this.#key = key;
  }

  /** From now on secrets are sealed with this key, or cannot be for this reason. */
  use(key: Uint8Array | EdgeError): void {
    this.#key = key;
  }

  /**
   * @param place what the text belongs to: sealed text that is moved elsewhere does not open
   * @throws EdgeError EDGE_SECRETS_KEY
   */
  seal(text: string, place: string): string {
    if (this.#key instanceof Error) throw this.#key;
    return sealWith(this.#key, text, place);
  }

  /** @throws EdgeError EDGE_SECRETS_KEY; EDGE_STORAGE_CORRUPT another key, or another place */
  open(sealed: string, place: string): string {
    if (isPlain(sealed)) return sealed.slice(PLAIN.length);
    if (this.#key instanceof Error) throw this.#key;
    const text = openWith(this.#key, sealed, place);
    if (text !== undefined) return text;
    throw new EdgeError(
      'EDGE_STORAGE_CORRUPT',
      `Cannot open the secret ${place}: it was sealed with another key, or is damaged`,
    );
  }
}

/** @throws RangeError */
export function checkKey(key: Uint8Array): Uint8Array {
  if (key.byteLength !== KEY_BYTES)
    throw new RangeError(`secretsKey must be ${KEY_BYTES} bytes, got ${key.byteLength}`);
  return key;
}

/** Whether a secret is stored unencrypted, as earlier releases did when they had no key. */
export function isPlain(sealed: string): boolean {
  return sealed.startsWith(PLAIN);
}

/** An identifier of a key that reveals nothing of the key. */
export function fingerprint(key: Uint8Array): string {
  return createHash('sha256').update('edgehost secrets key\0').update(key).digest('hex').slice(0, 32);
}

export function sealWith(key: Uint8Array, text: string, place: string): string {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv(ALGORITHM, key, iv).setAAD(Buffer.from(place));
  const sealed = Buffer.concat([iv, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
  return `${SEALED}${sealed.toString('base64')}`;
}

/** Undefined for another key, another place, or damage. */
export function openWith(key: Uint8Array, sealed: string, place: string): string | undefined {
  if (isPlain(sealed)) return sealed.slice(PLAIN.length);
  const bytes = Buffer.from(sealed.slice(SEALED.length), 'base64');
  try {
    const decipher = createDecipheriv(ALGORITHM, key, bytes.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES })
      .setAAD(Buffer.from(place))
      .setAuthTag(bytes.subarray(bytes.length - TAG_BYTES));
    const text = decipher.update(bytes.subarray(IV_BYTES, bytes.length - TAG_BYTES));
    return Buffer.concat([text, decipher.final()]).toString('utf8');
  } catch {
    return undefined;
  }
}
