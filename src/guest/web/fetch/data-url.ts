/** data: URLs. @see https://fetch.spec.whatwg.org/#data-url-processor */
import { Op } from '../../../isolate/ops/table.ts';
import { op } from '../../bridge.ts';
import {
  stringCharCodeAt,
  stringIndexOf,
  stringSlice,
  stringToLowerCase,
  typedArrayLength,
  Uint8ArrayCtor,
} from '../../primordials.ts';
import { encodeUtf8 } from '../../utf8.ts';
import { percentDecode } from '../base/percent-decode.ts';
import { normalizeValue } from './header-list.ts';
import { parseMimeType, serializeMimeType } from './mime.ts';

export interface DataResource {
  readonly type: string;
  readonly bytes: Uint8Array;
}

/** The content of a serialized data: URL; undefined when it is malformed. */
export function readDataUrl(href: string): DataResource | undefined {
  // 2-4: the URL without its fragment and "data:".
  const hash = stringIndexOf(href, '#');
  const input = stringSlice(href, 'data:'.length, hash < 0 ? href.length : hash);
  // 5-7: the MIME type ends at the first comma.
  const comma = stringIndexOf(input, ',');
  if (comma < 0) return undefined;
  let type = normalizeValue(stringSlice(input, 0, comma));
  let bytes: Uint8Array | undefined = percentDecode(encodeUtf8(stringSlice(input, comma + 1)));
  // 11: ";base64", perhaps with spaces before it.
  const typeEnd = base64Start(type);
  if (typeEnd !== undefined) {
    bytes = decodeBase64(bytes);
    if (bytes === undefined) return undefined;
    type = stringSlice(type, 0, typeEnd);
  }
  // 12-14
  if (type !== '' && stringCharCodeAt(type, 0) === SEMICOLON) type = `text/plain${type}`;
  const parsed = parseMimeType(type);
  return { type: parsed === undefined ? 'text/plain;charset=US-ASCII' : serializeMimeType(parsed), bytes };
}

const SEMICOLON = 0x3b;
const SPACE = 0x20;

function base64Start(type: string): number | undefined {
  let at = type.length - 'base64'.length;
  if (at < 0 || stringToLowerCase(stringSlice(type, at)) !== 'base64') return undefined;
  while (at > 0 && stringCharCodeAt(type, at - 1) === SPACE) at--;
  return at > 0 && stringCharCodeAt(type, at - 1) === SEMICOLON ? at - 1 : undefined;
}

/** "Forgiving-base64 decode" of bytes. */
function decodeBase64(bytes: Uint8Array): Uint8Array | undefined {
  const binary = latin1(bytes);
  let decoded: unknown;
  try {
    decoded = op(Op.Base64Decode, binary);
  } catch {
    return undefined;
  }
  if (typeof decoded !== 'string') return undefined;
  const result = new Uint8ArrayCtor(decoded.length);
  for (let i = 0; i < decoded.length; i++) result[i] = stringCharCodeAt(decoded, i);
  return result;
}

/** Bytes as characters. */
export function latin1(bytes: Uint8Array): string {
  let text = '';
  for (let i = 0; i < typedArrayLength(bytes); i++) text += LATIN1[bytes[i] ?? 0];
  return text;
}

const LATIN1: readonly string[] = Array.from({ length: 256 }, (_, code) => String.fromCharCode(code));
