/** Subresource integrity: whether bytes are those that a request was promised. @see https://www.w3.org/TR/SRI/ */
import { Op } from '../../../isolate/ops/table.ts';
import { op, opBytes, opNumber, opString } from '../../bridge.ts';
import {
  arrayIndexOf,
  stringFromCharCode,
  stringSlice,
  stringSplit,
  typedArrayLength,
  Uint8ArrayCtor,
} from '../../primordials.ts';

/** From the weakest to the strongest. */
const ALGORITHMS = ['sha256', 'sha384', 'sha512'] as const;
const NAMES = ['SHA-256', 'SHA-384', 'SHA-512'] as const;
/** The length of the prefix, as in "sha256-". */
const PREFIX_LENGTH = 7;

/** "Do bytes match metadataList": only the strongest algorithm of the metadata counts. Metadata without a known algorithm match any bytes. */
export function matchesIntegrity(bytes: Uint8Array, metadata: string): boolean {
  const tokens = stringSplit(spaced(metadata), ' ');
  let strongest = -1;
  for (let i = 0; i < tokens.length; i++) {
    const strength = strengthOf(tokens[i] ?? '');
    if (strength > strongest) strongest = strength;
  }
  const algorithm = NAMES[strongest];
  if (algorithm === undefined) return true;
  const actual = comparable(digestOf(algorithm, bytes));
  for (let i = 0; i < tokens.length; i++) {
    const token = tokens[i] ?? '';
    if (strengthOf(token) !== strongest) continue;
    // A question mark begins the options of a token. None are defined, so they are ignored.
    const expected = stringSplit(stringSlice(token, PREFIX_LENGTH), '?')[0] ?? '';
    if (comparable(expected) === actual) return true;
  }
  return false;
}

function strengthOf(token: string): number {
  const isPrefixed = stringSlice(token, PREFIX_LENGTH - 1, PREFIX_LENGTH) === '-' && token.length > PREFIX_LENGTH;
  return isPrefixed ? arrayIndexOf<string>(ALGORITHMS, stringSlice(token, 0, PREFIX_LENGTH - 1)) : -1;
}

/** Base64 or base64url, padded or not, in one form. */
function comparable(base64: string): string {
  let text = '';
  for (let i = 0; i < base64.length; i++) {
    const character = base64[i] ?? '';
    if (character === '=') break;
    text += character === '-' ? '+' : character === '_' ? '/' : character;
  }
  return text;
}

/** ASCII whitespace as spaces. */
function spaced(text: string): string {
  let result = '';
  for (let i = 0; i < text.length; i++) {
    const character = text[i] ?? '';
    result += character === '\t' || character === '\n' || character === '\f' || character === '\r' ? ' ' : character;
  }
  return result;
}

/** In base64. */
function digestOf(algorithm: string, bytes: Uint8Array): string {
  // While this lives, so does the digest in the host realm.
  const token = new Uint8ArrayCtor(0);
  const id = opNumber(Op.DigestOpen, algorithm, token);
  op(Op.DigestUpdate, id, bytes);
  const digest = opBytes(Op.DigestFinish, id);
  void token;
  const length = typedArrayLength(digest);
  let text = '';
  for (let i = 0; i < length; i++) text += stringFromCharCode(digest[i] ?? 0);
  return opString(Op.Base64Encode, text);
}
