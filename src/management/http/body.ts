/** Reads the bodies of requests: never more than allowed, and never a byte that is not needed. */

import { cancelQuietly } from '../../bindings/bodies/external-stream.js';
import { detached, guarded } from '../../quotas/guarded.js';
import { expensiveStructure } from '../../quotas/host/json-structure.js';
import { ApiError } from './envelope.js';
import { type MultipartPart, readParts } from './multipart.js';
import type { Slices } from './slices.js';

/** The bounds of one JSON text. It is parsed in one piece, which takes some 30 ms at most. A batch of messages may have many names. */
const JSON_BOUNDS = { names: 20_000, brackets: 50_000 };

/** @throws ApiError BODY_TOO_LARGE, BODY_INCOMPLETE */
export async function readBytes(
  request: Request,
  limitBytes: number,
  limitMs: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const declared = Number(request.headers.get('content-length') ?? 0);
  if (declared > limitBytes) throw tooLarge(limitBytes);
  const { body } = request;
  if (body === null) return new Uint8Array(0);
  const chunks: Uint8Array[] = [];
  let size = 0;
  const reader = body.getReader();
  let late = false;
  // A sender that trickles would hold its place in the queue of uploads for as long as it likes.
  const timer = setTimeout(
    guarded(() => {
      late = true;
      detached(cancelQuietly(body, reader));
    }),
    limitMs,
  );
  timer.unref();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      size += value.byteLength;
      if (size > limitBytes) throw tooLarge(limitBytes);
      chunks.push(value);
    }
  } catch (error) {
    await cancelQuietly(body, reader);
    if (error instanceof ApiError) throw error;
    throw new ApiError('BODY_INCOMPLETE', 'The body ended early', { cause: error });
  } finally {
    clearTimeout(timer);
  }
  if (late) throw new ApiError('BODY_INCOMPLETE', `The body took longer than ${limitMs} ms`);
  const bytes = new Uint8Array(size);
  let offset = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, offset);
    offset += chunk.byteLength;
  }
  return bytes;
}

/** @throws ApiError MEDIA_TYPE, BAD_JSON and the errors of `readBytes` */
export async function readJson(request: Request, limitBytes: number, limitMs: number): Promise<unknown> {
  checkJsonType(request);
  return parseJson(await readBytes(request, limitBytes, limitMs));
}

/** @throws ApiError MEDIA_TYPE */
export function checkJsonType(request: Request): void {
  const type = mediaType(request);
  if (type === 'application/json' || type === 'application/merge-patch+json') return;
  throw new ApiError('MEDIA_TYPE', `The body must be application/json, got ${type === '' ? 'no content type' : type}`);
}

/** @throws ApiError BAD_JSON, and BODY_INVALID for what would take long to parse */
export function parseJson(bytes: Uint8Array): unknown {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    const tooMuch = expensiveStructure(text, JSON_BOUNDS);
    if (tooMuch !== undefined) throw new ApiError('BODY_INVALID', `The JSON has ${tooMuch} are allowed`);
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof ApiError) throw error;
    const reason = error instanceof SyntaxError ? error.message : 'it is not UTF-8';
    throw new ApiError('BAD_JSON', `The body is not valid JSON: ${reason}`, { cause: error });
  }
}

/** @throws ApiError MEDIA_TYPE, UPLOAD_INVALID and the errors of `readBytes` */
export async function readForm(
  request: Request,
  limits: { readonly bytes: number; readonly ms: number; readonly parts: number },
  slices: Slices,
): Promise<readonly MultipartPart[]> {
  const type = mediaType(request);
  if (type !== 'multipart/form-data') {
    throw new ApiError(
      'MEDIA_TYPE',
      `The body must be multipart/form-data, got ${type === '' ? 'no content type' : type}`,
    );
  }
  const body = await readBytes(request, limits.bytes, limits.ms);
  return readParts(body, request.headers.get('content-type') ?? '', limits.parts, slices);
}

function mediaType(request: Request): string {
  const header = request.headers.get('content-type') ?? '';
  return (header.split(';')[0] ?? '').trim().toLowerCase();
}

function tooLarge(limitBytes: number): ApiError {
  return new ApiError('BODY_TOO_LARGE', `Request entity too large: at most ${limitBytes} bytes are allowed`);
}
