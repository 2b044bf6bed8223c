/** Single-byte encodings of the Encoding standard that Node's ICU does not have, or has wrong. */

/** The characters of the bytes from 0x80 on. @see https://encoding.spec.whatwg.org/index-iso-8859-16.txt */
const ISO_8859_16 =
  '\u0080\u0081\u0082\u0083\u0084\u0085\u0086\u0087\u0088\u0089\u008a\u008b\u008c\u008d\u008e\u008f\u0090\u0091\u0092\u0093\u0094\u0095\u0096\u0097\u0098\u0099\u009a\u009b\u009c\u009d\u009e\u009f\u00a0ĄąŁ€„Š§š©Ș«Ź\u00adźŻ°±ČłŽ”¶·žčș»ŒœŸżÀÁÂĂÄĆÆÇÈÉÊËÌÍÎÏĐŃÒÓÔŐÖŚŰÙÚÛÜĘȚßàáâăäćæçèéêëìíîïđńòóôőöśűùúûüęțÿ';

/** @see https://encoding.spec.whatwg.org/#x-user-defined-decoder */
const X_USER_DEFINED = String.fromCharCode(...Array.from({ length: 128 }, (_, i) => 0xf780 + i));

/** Bytes that Node's ICU decodes in another way than the standard: U+FFFD where there is no character. */
const CORRECTIONS: { readonly [encoding: string]: { readonly [byte: number]: string } | undefined } = {
  'windows-874': Object.fromEntries([0xdb, 0xdc, 0xdd, 0xde, 0xfc, 0xfd, 0xfe, 0xff].map(byte => [byte, '\ufffd'])),
  'windows-1253': { 170: '\ufffd' },
  'windows-1255': { 202: '\u05ba' },
};

const tables = new Map<string, string>([
  ['iso-8859-16', ISO_8859_16],
  ['x-user-defined', X_USER_DEFINED],
]);

/** The encoding of a label that Node does not know. */
export function singleByteEncoding(label: string): string | undefined {
  const name = label.replace(/^[\t\n\f\r ]+|[\t\n\f\r ]+$/g, '').toLowerCase();
  return tables.has(name) ? name : undefined;
}

/** The characters of the bytes from 0x80 on, U+FFFD for none; undefined for the encodings that are Node's to decode. */
export function singleByteTable(encoding: string): string | undefined {
  const known = tables.get(encoding);
  if (known !== undefined) return known;
  const corrections = Object.hasOwn(CORRECTIONS, encoding) ? CORRECTIONS[encoding] : undefined;
  if (corrections === undefined) return undefined;
  const decoder = new TextDecoder(encoding);
  const table = Array.from({ length: 128 }, (_, i) => corrections[i + 0x80] ?? decoder.decode(Uint8Array.of(i + 0x80)));
  tables.set(encoding, table.join(''));
  return tables.get(encoding);
}

/** Undefined when a byte stands for nothing and that is not allowed. */
export function decodeSingleByte(bytes: Uint8Array, table: string, isFatal: boolean): string | undefined {
  let text = '';
  for (const byte of bytes) {
    const character = byte < 0x80 ? String.fromCharCode(byte) : table[byte - 0x80];
    if (isFatal && character === '\ufffd') return undefined;
    text += character;
  }
  return text;
}
