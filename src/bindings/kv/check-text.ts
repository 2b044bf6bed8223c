/** Checks keys, prefixes and metadata. The client checks them so that a mistake costs no call, and the service because it trusts no client. */
import { type KvOperation, kvError } from './errors.js';
import { KV_LIMITS } from './limits.js';

/** @throws TypeError for the key of no value, KvError 20005 */
export function checkKeyText(operation: KvOperation, key: string): void {
  if (key === '') throw new TypeError('Key name cannot be empty.');
  if (key === '.' || key === '..') throw new TypeError(`"${key}" is not allowed as a key name.`);
  checkLength(operation, key);
}

/** @throws KvError 20005 */
export function checkLength(operation: KvOperation, text: string): void {
  const bytes = utf8Bytes(text, KV_LIMITS.keyBytes);
  if (bytes > KV_LIMITS.keyBytes) {
    throw kvError(
      operation,
      20005,
      `UTF-8 encoded length of ${bytes} exceeds key length limit of ${KV_LIMITS.keyBytes}.`,
    );
  }
}

/** @param json the metadata as JSON. @throws KvError 20004 */
export function checkMetadataSize(json: string): void {
  const bytes = utf8Bytes(json, KV_LIMITS.metadataBytes);
  if (bytes > KV_LIMITS.metadataBytes) {
    throw kvError('PUT', 20004, `Metadata length of ${bytes} exceeds limit of ${KV_LIMITS.metadataBytes}.`);
  }
}

/** @throws KvError 20001 */
export function checkKeyCount(count: number): void {
  if (count > KV_LIMITS.bulkKeys) {
    throw kvError('GET_BULK', 20001, `You can request a maximum of ${KV_LIMITS.bulkKeys} keys`);
  }
  if (count < 1) throw kvError('GET_BULK', 20001, 'You must request a minimum of 1 key');
}

/** The length in UTF-8. 0 for a text that is at most `enough` bytes long whatever its characters are. */
function utf8Bytes(text: string, enough: number): number {
  if (text.length * 3 <= enough) return 0;
  let bytes = text.length;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit < 0x80) continue;
    // Each half of a surrogate pair counts two of its four bytes; a lone one becomes U+FFFD, which has three.
    bytes += unit < 0x800 || isPaired(text, at, unit) ? 1 : 2;
  }
  return bytes;
}

function isPaired(text: string, at: number, unit: number): boolean {
  if (unit >= 0xd800 && unit < 0xdc00) return (text.charCodeAt(at + 1) & 0xfc00) === 0xdc00;
  return unit >= 0xdc00 && unit < 0xe000 && (text.charCodeAt(at - 1) & 0xfc00) === 0xd800;
}
