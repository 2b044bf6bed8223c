/**
 * Percent-encoding as signature version 4 defines it, on bytes. Header values and targets come from node:http as
 * strings of bytes (latin1): one character is one byte.
 */

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const ENCODED: readonly string[] = Array.from({ length: 256 }, (_, byte) => {
  const char = String.fromCharCode(byte);
  return /[A-Za-z0-9\-._~]/.test(char) ? char : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
});

/** Every byte but A-Z a-z 0-9 - . _ ~ becomes %XX; with `keepSlash` the slash stays as well. */
export function uriEncode(text: string, keepSlash = false): string {
  if (/^[A-Za-z0-9\-._~]*$/.test(text)) return text;
  let out = '';
  for (const byte of Buffer.from(text, 'utf8')) out += keepSlash && byte === 0x2f ? '/' : ENCODED[byte];
  return out;
}

/** undefined: a % without two hex digits after it, or bytes that are not UTF-8. */
export function percentDecode(bytesText: string): string | undefined {
  if (/^[\x20-\x24\x26-\x7e]*$/.test(bytesText)) return bytesText;
  if (/%(?![0-9A-Fa-f]{2})/.test(bytesText)) return undefined;
  const bytes = bytesText.replace(/%([0-9A-Fa-f]{2})/g, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  return utf8OfBytes(bytes);
}

/** The text of a string of bytes; undefined when the bytes are not UTF-8. */
export function utf8OfBytes(bytesText: string): string | undefined {
  try {
    return UTF8.decode(Buffer.from(bytesText, 'latin1'));
  } catch {
    return undefined;
  }
}

/** Base64 of exactly `length` bytes, padded and canonical; else undefined. */
export function parseBase64(text: string, length: number): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64');
  return bytes.length === length && bytes.toString('base64') === text ? bytes : undefined;
}

/** Whole numbers of at most 15 digits, without sign; else undefined. */
export function parseCount(text: string): number | undefined {
  return /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}
