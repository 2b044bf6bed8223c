/** Bodies: what they are made of, how they are read. @see https://fetch.spec.whatwg.org/#bodies */
import { addSite, type CallSite, callSite, rememberStack } from '../../errors.ts';
import { HostBody } from '../../host-body.ts';
import {
  ErrorCtor,
  jsonParse,
  mapGet,
  numberToString,
  PromiseCtor,
  promiseReject,
  promiseResolve,
  promiseThen,
  stringCharCodeAt,
  stringFromCharCode,
  stringIndexOf,
  stringSlice,
  TypeErrorCtor,
  typedArrayLength,
  typedArraySubarray,
  WeakMapCtor,
  weakMapGet,
  weakMapSet,
} from '../../primordials.ts';
import { decodeUtf8, decodeUtf8WithBom, encodeUtf8 } from '../../utf8.ts';
import { bufferOf, concatBytes, copyOf, isBufferSource } from '../base/buffers.ts';
import { isObject, toUSVString } from '../base/idl.ts';
import { warn } from '../console/warn.ts';
import { type Blob, blobBytes, blobSize, blobType, createBlob, isBlob } from '../file/blob.ts';
import { ByteReader, createByteStream, readAll } from '../streams/byte-streams.ts';
import {
  detach,
  disturb,
  isDisturbed,
  isLocked,
  isReadableStream,
  type ReadableStream,
  teeCloned,
} from '../streams/streams.ts';
import { pairsOf, parseQuery, serializeQuery } from '../url/url-search-params.ts';
import { createBoundary } from './boundary.ts';
import { FormData, formEntries, isFormData } from './form-data.ts';
import { streamOfIterable } from './iterable-body.ts';
import { extractMimeType, serializeMimeType } from './mime.ts';
import { parseMultipart, serializeForm } from './multipart.ts';

/** The source of a body that is not a stream of the function. Its bytes are not shared with code that could change them. */
export type BodySource = string | Uint8Array | Blob | HostBody;

export class Body {
  /** Undefined for a stream of the function's own. */
  readonly source: BodySource | undefined;
  /** Created when `.body` is first used, since most bodies are never read as a stream. */
  stream: ReadableStream | undefined;
  /** The number of bytes, where it is known for a stream of the function's own. */
  length: number | undefined;
  /** Another body has the same source. */
  isShared = false;
  /** Read without a stream. */
  isTaken = false;

  constructor(source: BodySource | undefined, stream: ReadableStream | undefined = undefined) {
    this.source = source;
    this.stream = stream;
  }
}

/** The bodies behind the streams that function code got from `.body`: such a stream in a new Response is that body again. */
const bodyByStream = new WeakMapCtor<ReadableStream, Body>();
/** Lengths of streams that have one (FixedLengthStream). */
const lengthByStream = new WeakMapCtor<ReadableStream, number>();

export function setStreamLength(stream: ReadableStream, length: number): void {
  weakMapSet(lengthByStream, stream, length);
}

export function streamLength(stream: ReadableStream): number | undefined {
  return weakMapGet(lengthByStream, stream);
}

/** Marks a stream that comes from the host: as the body of a message it goes back there without passing this realm. */
export function setStreamSource(stream: ReadableStream, source: HostBody): void {
  weakMapSet(bodyByStream, stream, new Body(source, stream));
}

/** Where the bytes of a stream come from that is still on its way from the host, and of which nothing has been read. */
export function streamSource(stream: ReadableStream): HostBody | undefined {
  const known = weakMapGet(bodyByStream, stream);
  const source = known?.source;
  if (!(source instanceof HostBody) || source.isComplete || known?.isTaken === true) return undefined;
  return isDisturbed(stream) || isLocked(stream) ? undefined : source;
}

export interface ExtractedBody {
  readonly body: Body;
  readonly type: string | null;
}

let areIterablesBodies = false;

/** By the flag `fetch_iterable_type_support`: the standard makes a string of them. */
export function takeIterables(): void {
  areIterablesBodies = true;
}

/** @see https://fetch.spec.whatwg.org/#concept-bodyinit-extract */
export function extractBody(init: unknown): ExtractedBody {
  if (typeof init === 'string') return { body: new Body(toUSVString(init)), type: 'text/plain;charset=UTF-8' };
  if (isObject(init)) {
    if (isReadableStream(init)) return { body: bodyOfStream(init), type: null };
    if (isBufferSource(init)) return { body: new Body(copyOf(init)), type: null };
    if (isBlob(init)) return { body: new Body(init), type: blobType(init) || null };
    const query = pairsOf(init);
    if (query !== undefined) {
      return { body: new Body(serializeQuery(query)), type: 'application/x-www-form-urlencoded;charset=UTF-8' };
    }
    if (isFormData(init)) {
      const blob = serializeForm(init, createBoundary());
      return { body: new Body(blob), type: blobType(blob) };
    }
    if (areIterablesBodies) {
      const stream = streamOfIterable(init);
      if (stream !== undefined) return { body: bodyOfStream(stream), type: null };
    }
    if (init instanceof PromiseCtor) warnOfPromise();
  }
  return { body: new Body(toUSVString(init)), type: 'text/plain;charset=UTF-8' };
}

let hasWarnedOfPromise = false;

/** Its text is "[object Promise]", which nobody wants. One line an isolate: the mistake is the same each time. */
function warnOfPromise(): void {
  if (hasWarnedOfPromise) return;
  hasWarnedOfPromise = true;
  const { stack = '' } = new ErrorCtor(
    'A body was made of a promise, and its text is "[object Promise]": await the promise first',
  );
  warn(stack);
}

function bodyOfStream(stream: ReadableStream): Body {
  if (isDisturbed(stream) || isLocked(stream)) {
    throw new TypeErrorCtor('The stream has been read from or is locked, so it cannot be a body');
  }
  const known = weakMapGet(bodyByStream, stream);
  const body = new Body(known?.source, stream);
  body.length = known === undefined ? weakMapGet(lengthByStream, stream) : known.length;
  return body;
}

/** "Unusable": read already, or being read. */
export function isUnusable(body: Body): boolean {
  return body.stream === undefined ? body.isTaken : isDisturbed(body.stream) || isLocked(body.stream);
}

export function isUsed(body: Body): boolean {
  return body.stream === undefined ? body.isTaken : isDisturbed(body.stream);
}

/** Takes the body's source, if it has one, so that no other reader can use it; the caller has checked that it is usable. */
export function takeSource(body: Body): BodySource | undefined {
  const { source, stream } = body;
  if (source === undefined) return undefined;
  body.isTaken = true;
  if (stream !== undefined) detach(stream);
  return source;
}

/** The number of bytes when it is known before the body is read. */
export function bodyLength(body: Body): number | undefined {
  const { source } = body;
  if (source === undefined) return body.length;
  if (typeof source === 'string') return undefined; // known once it is encoded
  if (source instanceof HostBody) return source.isComplete ? source.size : source.expectedSize;
  return isBlob(source) ? blobSize(source) : typedArrayLength(source);
}

/** The body as function code sees it. */
export function streamOf(body: Body): ReadableStream {
  if (body.stream !== undefined) return body.stream;
  const stream = createStream(body);
  body.stream = stream;
  if (body.isTaken) detach(stream);
  else weakMapSet(bodyByStream, stream, body);
  return stream;
}

function createStream(body: Body): ReadableStream {
  const { source } = body;
  if (source instanceof HostBody) {
    return createByteStream({
      givesAway: true,
      pull: () => source.next(),
      cancel: () => source.stop(),
      watch: onFail => source.watch(onFail),
    });
  }
  let bytes: Uint8Array | undefined;
  let offset = 0;
  return createByteStream({
    givesAway: true,
    pull: () => {
      bytes ??= bytesOf(source);
      if (offset >= typedArrayLength(bytes)) return undefined;
      const chunk = typedArraySubarray(bytes, offset, offset + STREAM_CHUNK_BYTES);
      offset += typedArrayLength(chunk);
      return copyOf(chunk);
    },
  });
}

const STREAM_CHUNK_BYTES = 65_536;

/** The bytes of a body's source; not to be changed. */
export function bytesOf(source: string | Uint8Array | Blob | undefined): Uint8Array {
  if (typeof source === 'string') return encodeUtf8(source);
  return source === undefined ? encodeUtf8('') : isBlob(source) ? blobBytes(source) : source;
}

/** A second body of the same content; the first one remains usable. @see https://fetch.spec.whatwg.org/#concept-body-clone */
export function cloneBody(body: Body): Body {
  let { source } = body;
  if (source instanceof HostBody && source.isComplete && body.stream === undefined) {
    source = source.bytes();
    (body as { source: BodySource }).source = source; // the one place where a source changes into its equal
  }
  if (source !== undefined && !(source instanceof HostBody)) {
    body.isShared = true;
    const clone = new Body(source);
    clone.isShared = true;
    return clone;
  }
  body.length = bodyLength(body);
  const branches = teeCloned(streamOf(body));
  const clone = new Body(undefined, branches[1]);
  clone.length = body.length;
  (body as { source: BodySource | undefined }).source = undefined; // its bytes come by way of the tee from now on
  body.stream = branches[0];
  return clone;
}

/** The Request or Response that has the body, for the methods of the Body mixin. */
export interface BodyHolder {
  readonly body: Body | null;
  /** The combined value of content-type. */
  contentType(): string | null;
}

function takeForReading(owner: BodyHolder): Body | null {
  const { body } = owner;
  // A body that has failed rejects every read with its failure.
  if (body?.source instanceof HostBody) body.source.check();
  if (body !== null && isUnusable(body)) throw new TypeErrorCtor('The body has been read already, or is locked');
  return body;
}

export function readText(owner: BodyHolder): Promise<string> {
  const body = takeForReading(owner);
  if (body === null) return promiseResolve('');
  const source = takeSource(body);
  if (typeof source === 'string') return promiseResolve(withoutBom(source));
  if (source instanceof HostBody && source.isComplete) return promiseResolve(source.text());
  return promiseThen(readSource(body, source), decodeUtf8) as Promise<string>; // decodeUtf8 is the only branch
}

/** The text that its UTF-8 bytes are decoded to. */
function withoutBom(text: string): string {
  return stringCharCodeAt(text, 0) === 0xfeff ? stringSlice(text, 1) : text;
}

export function readJson(owner: BodyHolder): Promise<unknown> {
  const site = callSite();
  return promiseThen(readText(owner), site === undefined ? parseJson : text => parseJson(text, site));
}

function parseJson(text: string, site?: CallSite): unknown {
  try {
    return jsonParse(text);
  } catch (error) {
    // The engine keeps fewer frames of what it throws itself than lie between here and the function's code.
    if (error instanceof ErrorCtor) {
      rememberStack(error);
      addSite(error, site);
    }
    throw error;
  }
}

/** Bytes that the caller may keep. */
export function readBytes(owner: BodyHolder): Promise<Uint8Array> {
  const body = takeForReading(owner);
  if (body === null) return promiseResolve(encodeUtf8(''));
  const source = takeSource(body);
  const bytes = readSource(body, source);
  if (!body.isShared && !isBlob(source)) return bytes;
  return promiseThen(bytes, copyOf) as Promise<Uint8Array>; // copyOf is the only branch
}

function readSource(body: Body, source: BodySource | undefined): Promise<Uint8Array> {
  if (source === undefined) return body.stream === undefined ? promiseResolve(encodeUtf8('')) : readStream(body.stream);
  if (!(source instanceof HostBody)) return promiseResolve(bytesOf(source));
  return source.isComplete ? promiseResolve(source.bytes()) : readHostBody(source);
}

async function readStream(stream: ReadableStream): Promise<Uint8Array> {
  const { chunks, total } = await readAll(stream);
  return concatBytes(chunks, total);
}

async function readHostBody(source: HostBody): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let total = 0;
  for (let chunk = await source.next(); chunk !== undefined; chunk = await source.next()) {
    chunks[chunks.length] = chunk;
    total += typedArrayLength(chunk);
  }
  return concatBytes(chunks, total);
}

export function readArrayBuffer(owner: BodyHolder): Promise<ArrayBuffer> {
  return promiseThen(readBytes(owner), bufferOf) as Promise<ArrayBuffer>; // bufferOf is the only branch
}

export function readBlob(owner: BodyHolder): Promise<Blob> {
  const type = extractMimeType(owner.contentType());
  const toBlob = (bytes: Uint8Array): Blob => createBlob([bytes], type === undefined ? '' : serializeMimeType(type));
  return promiseThen(readBytes(owner), toBlob) as Promise<Blob>; // toBlob is the only branch
}

/** @see https://fetch.spec.whatwg.org/#dom-body-formdata */
export async function readFormData(owner: BodyHolder): Promise<FormData> {
  const type = extractMimeType(owner.contentType());
  const bytes = await readBytes(owner);
  if (type?.essence === 'multipart/form-data') {
    const boundary = mapGet(type.parameters, 'boundary');
    if (boundary === undefined) throw new TypeErrorCtor('The content-type multipart/form-data has no boundary');
    return parseMultipart(bytes, boundary);
  }
  if (type?.essence === 'application/x-www-form-urlencoded') {
    const form = new FormData();
    const entries = formEntries(form);
    const pairs = parseQuery(queryOf(bytes));
    for (let i = 0; i < pairs.length; i += 2) entries[entries.length] = [pairs[i] ?? '', pairs[i + 1] ?? ''];
    return form;
  }
  throw new TypeErrorCtor('The content-type is neither multipart/form-data nor application/x-www-form-urlencoded');
}

/**
 * Names and values are decoded from UTF-8 after their escapes have become bytes, so that a character may be made of both. That makes a
 * difference only where the bytes alone are no UTF-8.
 */
function queryOf(bytes: Uint8Array): string {
  const text = decodeUtf8WithBom(bytes);
  if (stringIndexOf(text, '\ufffd') < 0) return text;
  let escaped = '';
  for (let i = 0; i < typedArrayLength(bytes); i++) {
    const byte = bytes[i] ?? 0;
    escaped += byte < 0x80 ? stringFromCharCode(byte) : `%${numberToString(byte, 16)}`;
  }
  return escaped;
}

/** A rejected promise in place of a throw, as promise-returning operations have it. */
export function rejecting<T>(read: () => Promise<T>): Promise<T> {
  try {
    return read();
  } catch (error) {
    return promiseReject(error);
  }
}

/** Moves a body to another owner: the old one finds it used. */
export function takeBody(body: Body, what: string): Body {
  if (isUnusable(body)) throw new TypeErrorCtor(`${what} has been read already, or is locked`);
  const { source, stream, length, isShared } = body;
  const moved = new Body(source, source === undefined && stream !== undefined ? passThrough(stream) : undefined);
  moved.length = length;
  moved.isShared = isShared;
  if (source !== undefined) takeSource(body);
  return moved;
}

/** "Create a proxy": the same chunks from a new stream, the old one locked. */
function passThrough(stream: ReadableStream): ReadableStream {
  const reader = new ByteReader(stream);
  disturb(stream);
  return createByteStream({ pull: () => reader.next(), cancel: reason => reader.cancel(reason) });
}
