/**
 * The parts of a multipart/form-data body, from its bytes. A parser that makes an object of every part before the first is looked at takes half a minute for 64
 * MiB of small ones; this one bounds the size of a part, and lets other work run in between.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7578 and, for the escapes of names, https://html.spec.whatwg.org/#multipart-form-data
 */
import { asBuffer } from '../../protocol/frames/buffer-views.js';
import { ApiError } from './envelope.js';
import type { Slices } from './slices.js';

export interface MultipartPart {
  readonly name: string;
  /** It has a filename. */
  readonly isFile: boolean;
  /** As it was sent; empty for a part without one. */
  readonly type: string;
  /** A view of the body. */
  readonly bytes: Uint8Array<ArrayBuffer>;
}

const CRLF = '\r\n';
const HEAD_END = '\r\n\r\n';
/** Headers of one part: names have up to 255 characters, and may stand there twice. */
const MAX_HEAD_BYTES = 4096;
/** Searched in one piece. The boundary may be one that is slow to search for. */
const SEARCHED_BYTES = 256 * 1024;
const BOUNDARY = /;[ \t]*boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))[ \t]*(?:;|$)/i;
const PARAMETER = /[ \t]*;[ \t]*([^\s=;"]+)=(?:"([^"]*)"|([^\s;"]*))/y;
const ESCAPED = /%(?:0A|0D|22)/gi;

/** @throws ApiError UPLOAD_INVALID */
export async function readParts(
  body: Uint8Array<ArrayBuffer>,
  contentType: string,
  maxParts: number,
  slices: Slices,
): Promise<MultipartPart[]> {
  const [, quoted, plain] = BOUNDARY.exec(contentType) ?? [];
  const boundary = quoted ?? plain;
  if (boundary === undefined) throw malformed('its content type has no boundary of 1 to 70 characters');
  const delimiter = Buffer.from(`--${boundary}`);
  const bytes = asBuffer(body);
  const parts: MultipartPart[] = [];
  let at = 0;
  while (startsWith(bytes, CRLF, at) && at < MAX_HEAD_BYTES) at += CRLF.length;
  for (;;) {
    if (!startsWith(bytes, delimiter, at)) throw malformed('a boundary is missing');
    at += delimiter.length;
    if (startsWith(bytes, '--', at)) return parts;
    if (!startsWith(bytes, CRLF, at)) throw malformed('a boundary is not followed by a line break');
    if (parts.length >= maxParts) throw new ApiError('UPLOAD_INVALID', `The upload has more than ${maxParts} parts`);
    const head = readHead(bytes, at);
    const end = await endOfPart(bytes, delimiter, head.end, slices);
    parts.push({ ...head, bytes: body.subarray(head.end, end) });
    at = end + CRLF.length;
    await slices.pause();
  }
}

/** The place of the line break before the next boundary. */
async function endOfPart(bytes: Buffer, delimiter: Buffer, start: number, slices: Slices): Promise<number> {
  const searched = Buffer.concat([Buffer.from(CRLF), delimiter]);
  for (let at = start; at < bytes.length; at += SEARCHED_BYTES) {
    // A boundary that begins in this piece may end in the next.
    const found = bytes.subarray(at, at + SEARCHED_BYTES + searched.length - 1).indexOf(searched);
    if (found >= 0) return at + found;
    await slices.pause();
  }
  throw malformed('the closing boundary is missing');
}

/** @param start the line break behind the boundary */
function readHead(bytes: Buffer, start: number): Omit<MultipartPart, 'bytes'> & { readonly end: number } {
  const length = bytes.subarray(start, start + MAX_HEAD_BYTES + HEAD_END.length).indexOf(HEAD_END);
  if (length < 0) throw malformed(`the headers of a part have no end within ${MAX_HEAD_BYTES} bytes`);
  let disposition: string | undefined;
  let type = '';
  for (const line of bytes
    .toString('utf8', start, start + length)
    .split(CRLF)
    .slice(1)) {
    const colon = line.indexOf(':');
    if (colon <= 0) throw malformed('a header of a part has no name');
    const value = line.slice(colon + 1).trim();
    const name = line.slice(0, colon).toLowerCase();
    if (name === 'content-disposition') disposition = value;
    else if (name === 'content-type') type = value;
  }
  return { ...nameOf(disposition), type, end: start + length + HEAD_END.length };
}

function nameOf(disposition = ''): Pick<MultipartPart, 'name' | 'isFile'> {
  const kind = /^form-data/i.exec(disposition);
  if (kind === null) throw malformed('a part is not form-data');
  const parameters = new Map<string, string>();
  PARAMETER.lastIndex = kind[0].length;
  for (let found = PARAMETER.exec(disposition); found !== null; found = PARAMETER.exec(disposition)) {
    const [, key = '', quoted, plain = ''] = found;
    parameters.set(key.toLowerCase(), quoted === undefined ? plain : quoted.replace(ESCAPED, decodeURIComponent));
  }
  const name = parameters.get('name');
  if (name === undefined) throw malformed('a part has no name');
  return { name, isFile: parameters.has('filename') || parameters.has('filename*') };
}

function startsWith(bytes: Buffer, text: Buffer | string, at: number): boolean {
  const wanted = typeof text === 'string' ? Buffer.from(text) : text;
  return bytes.subarray(at, at + wanted.length).equals(wanted);
}

function malformed(why: string): ApiError {
  return new ApiError('UPLOAD_INVALID', `The body is not valid multipart/form-data: ${why}`);
}
