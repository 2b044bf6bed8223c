/** Secrets at rest: AES-256-GCM under the owner's key, bound to the place they belong to. */

import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { EdgeError } from '../../quotas/errors.js';

const ALGORITHM = 'aes-256-gcm';
const IV_BYTES = 12;
const TAG_BYTES = 16;

export class Sealing {
  readonly #key: Uint8Array | null;

  /** @param key 32 bytes; null stores secrets as they are, readable by whoever reads the storage directory */
  constructor(key: Uint8Array | null) {
    if (key !== null && key.byteLength !== 32) {
      throw new RangeError(`secretsKey must be 32 bytes, got ${key.byteLength}`);
    }
    this.#key = key;
  }

  /** @param place what the text belongs to: sealed text that is moved elsewhere does not open */
  seal(text: string, place: string): string {
    if (this.#key === null) return `plain:${text}`;
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv(ALGORITHM, this.#key, iv).setAAD(Buffer.from(place));
    const sealed = Buffer.concat([iv, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
    return `gcm:${sealed.toString('base64')}`;
  }

  /** @throws EdgeError EDGE_STORAGE_CORRUPT another key, or another place */
  open(sealed: string, place: string): string {
    if (sealed.startsWith('plain:')) return sealed.slice('plain:'.length);
    const bytes = Buffer.from(sealed.slice('gcm:'.length), 'base64');
    try {
      if (this.#key === null) throw new TypeError('no secretsKey is given');
      const decipher = createDecipheriv(ALGORITHM, this.#key, bytes.subarray(0, IV_BYTES))
        .setAAD(Buffer.from(place))
        .setAuthTag(bytes.subarray(bytes.length - TAG_BYTES));
      const text = decipher.update(bytes.subarray(IV_BYTES, bytes.length - TAG_BYTES));
      return Buffer.concat([text, decipher.final()]).toString('utf8');
    } catch (cause) {
      throw new EdgeError(
        'EDGE_STORAGE_CORRUPT',
        `Cannot open the secret ${place}: is secretsKey the one it was sealed with?`,
        {
          cause,
        },
      );
    }
  }
}
