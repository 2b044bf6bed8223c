/** Where the random bytes of a realm come from: the system, or a key that gives the same bytes when the code of a run runs again. */
import { createCipheriv, randomFillSync } from 'node:crypto';

/** Fills the bytes. */
export type RandomSource = (bytes: Uint8Array) => void;

export const systemRandom: RandomSource = bytes => {
  randomFillSync(bytes);
};

const IV_BYTES = 16;

/** The key stream of AES-256 in counter mode. @param key 32 bytes, of which nothing can be learned from the stream */
export function keyedRandom(key: Uint8Array): RandomSource {
  const cipher = createCipheriv('aes-256-ctr', key, new Uint8Array(IV_BYTES));
  return bytes => bytes.set(cipher.update(new Uint8Array(bytes.length)));
}
