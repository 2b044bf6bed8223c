/** Blob and File, held in the memory of the isolate. @see https://w3c.github.io/FileAPI/ */
import {
  arrayPush,
  isView,
  promiseReject,
  promiseResolve,
  stringCharCodeAt,
  stringIndexOf,
  stringSlice,
  stringToLowerCase,
  TypeErrorCtor,
  typedArrayLength,
  typedArraySubarray,
} from '../../primordials.ts';
import { decodeUtf8, encodeUtf8 } from '../../utf8.ts';
import { bufferOf, concatBytes, copyOf, isArrayBuffer } from '../base/buffers.ts';
import { wallNow } from '../base/clock.ts';
import {
  defineInterface,
  isObject,
  requireArguments,
  toClampedInteger,
  toDictionary,
  toEnum,
  toSequence,
  toUSVString,
} from '../base/idl.ts';
import { createByteStream } from '../streams/byte-streams.ts';
import type { ReadableStream } from '../streams/streams.ts';

const MAX_SAFE = 9_007_199_254_740_991;
const STREAM_CHUNK_BYTES = 65_536;
const INTERNAL = Symbol('internal');

/** Chunks of bytes that do not change any more. */
interface BlobData {
  readonly pieces: readonly Uint8Array[];
  readonly size: number;
  readonly type: string;
}

let dataOf: (blob: Blob) => BlobData;
export let isBlob: (value: unknown) => value is Blob;
export let isFile: (value: unknown) => value is File;

/** A Blob of bytes that no other code changes. */
export function createBlob(pieces: readonly Uint8Array[], type: string): Blob {
  return new Blob(INTERNAL, { pieces, size: totalOf(pieces), type });
}

export function blobType(blob: Blob): string {
  return dataOf(blob).type;
}

export function blobSize(blob: Blob): number {
  return dataOf(blob).size;
}

/** The bytes of a Blob; not to be changed or handed out, since they may be the Blob's own. */
export function blobBytes(blob: Blob): Uint8Array {
  const { pieces, size } = dataOf(blob);
  return concatBytes(pieces, size);
}

export class Blob {
  #data: BlobData;

  constructor(blobParts?: unknown, options?: unknown);
  constructor(blobParts: unknown = undefined, options: unknown = undefined) {
    if (blobParts === INTERNAL) {
      this.#data = options as BlobData; // only this module has INTERNAL
      return;
    }
    const parts = blobParts === undefined ? [] : toParts(blobParts);
    const bag = toDictionary(options, 'Blob constructor: options');
    const endings = bag?.endings;
    const isNative = endings !== undefined && toEnum(endings, ['transparent', 'native'], 'endings') === 'native';
    const type = bag?.type;
    const pieces: Uint8Array[] = [];
    for (let i = 0; i < parts.length; i++) addPart(pieces, parts[i], isNative);
    this.#data = { pieces, size: totalOf(pieces), type: type === undefined ? '' : toBlobType(type) };
  }

  get size(): number {
    return this.#data.size;
  }

  get type(): string {
    return this.#data.type;
  }

  slice(start: unknown = undefined, end: unknown = undefined, contentType: unknown = undefined): Blob {
    const { pieces, size } = this.#data;
    const from = toPosition(start, 0, size);
    const to = toPosition(end, size, size);
    const type = contentType === undefined ? '' : toBlobType(contentType);
    return createBlob(slicePieces(pieces, from, to > from ? to : from), type);
  }

  stream(): ReadableStream {
    const { pieces } = this.#data;
    let index = 0;
    let offset = 0;
    return createByteStream({
      givesAway: true,
      pull: () => {
        for (let piece = pieces[index]; piece !== undefined; piece = pieces[++index]) {
          const length = typedArrayLength(piece);
          if (offset < length) {
            const part = typedArraySubarray(piece, offset, offset + STREAM_CHUNK_BYTES);
            offset += typedArrayLength(part);
            return copyOf(part);
          }
          offset = 0;
        }
        return undefined;
      },
    });
  }

  text(): Promise<string> {
    try {
      return promiseResolve(decodeUtf8(concatBytes(this.#data.pieces, this.#data.size)));
    } catch (error) {
      return promiseReject(error);
    }
  }

  arrayBuffer(): Promise<ArrayBuffer> {
    try {
      return promiseResolve(bufferOf(copyBytes(this.#data)));
    } catch (error) {
      return promiseReject(error);
    }
  }

  bytes(): Promise<Uint8Array> {
    try {
      return promiseResolve(copyBytes(this.#data));
    } catch (error) {
      return promiseReject(error);
    }
  }

  static {
    dataOf = blob => blob.#data;
    isBlob = (value): value is Blob => typeof value === 'object' && value !== null && #data in value;
  }
}

export class File extends Blob {
  #name: string;
  #lastModified: number;

  constructor(fileBits: unknown, fileName: unknown, options: unknown = undefined) {
    requireArguments(arguments.length, 2, 'File constructor');
    if (fileBits === undefined) throw new TypeErrorCtor('File constructor: the parts are not a sequence');
    super(fileBits, options);
    this.#name = toUSVString(fileName);
    const lastModified = toDictionary(options, 'File constructor: options')?.lastModified;
    this.#lastModified = lastModified === undefined ? wallNow() : toClampedInteger(lastModified, -MAX_SAFE, MAX_SAFE);
  }

  get name(): string {
    return this.#name;
  }

  get lastModified(): number {
    return this.#lastModified;
  }

  get webkitRelativePath(): string {
    this.#name; // a receiver that is not a File throws
    return '';
  }

  static {
    isFile = (value): value is File => typeof value === 'object' && value !== null && #name in value;
  }
}

defineInterface(Blob, 'Blob');
defineInterface(File, 'File');

function toParts(value: unknown): unknown[] {
  if (!isObject(value)) throw new TypeErrorCtor('Blob constructor: the parts are not a sequence');
  return toSequence(
    value,
    part => (isView(part) || isArrayBuffer(part) || isBlob(part) ? part : toUSVString(part)),
    'Blob constructor: the parts',
  );
}

function addPart(pieces: Uint8Array[], part: unknown, isNative: boolean): void {
  if (typeof part === 'string') arrayPush(pieces, encodeUtf8(isNative ? toNativeEndings(part) : part));
  else if (isView(part) || isArrayBuffer(part)) arrayPush(pieces, copyOf(part));
  else if (isBlob(part)) {
    const own = dataOf(part).pieces;
    for (let i = 0; i < own.length; i++) {
      const piece = own[i];
      if (piece !== undefined) arrayPush(pieces, piece);
    }
  }
}

/** @see https://w3c.github.io/FileAPI/#convert-line-endings-to-native */
function toNativeEndings(text: string): string {
  let result = '';
  let start = 0;
  for (let at = stringIndexOf(text, '\r'); at >= 0; at = stringIndexOf(text, '\r', start)) {
    result += `${stringSlice(text, start, at)}\n`;
    start = stringCharCodeAt(text, at + 1) === 0x0a ? at + 2 : at + 1;
  }
  return start === 0 ? text : result + stringSlice(text, start);
}

/** A type with characters outside U+0020 to U+007E becomes the empty string. */
function toBlobType(value: unknown): string {
  const type = typeof value === 'string' ? value : `${value}`;
  for (let i = 0; i < type.length; i++) {
    const code = stringCharCodeAt(type, i);
    if (code < 0x20 || code > 0x7e) return '';
  }
  return stringToLowerCase(type);
}

function toPosition(value: unknown, fallback: number, size: number): number {
  if (value === undefined) return fallback;
  const position = toClampedInteger(value, -MAX_SAFE, MAX_SAFE);
  if (position < 0) return position + size > 0 ? position + size : 0;
  return position < size ? position : size;
}

function slicePieces(pieces: readonly Uint8Array[], from: number, to: number): Uint8Array[] {
  const kept: Uint8Array[] = [];
  let offset = 0;
  for (let i = 0; i < pieces.length && offset < to; i++) {
    const piece = pieces[i];
    if (piece === undefined) continue;
    const length = typedArrayLength(piece);
    const start = from > offset ? from - offset : 0;
    const end = to - offset < length ? to - offset : length;
    if (start < end) arrayPush(kept, start === 0 && end === length ? piece : typedArraySubarray(piece, start, end));
    offset += length;
  }
  return kept;
}

function totalOf(pieces: readonly Uint8Array[]): number {
  let total = 0;
  for (let i = 0; i < pieces.length; i++) {
    const piece = pieces[i];
    if (piece !== undefined) total += typedArrayLength(piece);
  }
  return total;
}

function copyBytes({ pieces, size }: BlobData): Uint8Array {
  return pieces.length === 1 && pieces[0] !== undefined ? copyOf(pieces[0]) : concatBytes(pieces, size);
}
