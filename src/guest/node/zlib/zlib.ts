/** node:zlib. The work is done by Node in the host realm, with bounds; see src/isolate/ops/node/zlib. */

import { Op } from '../../../isolate/ops/table.ts';
import { op, opNumber, takeBytes } from '../../bridge.ts';
import { isBufferSource, viewOf } from '../../web/base/buffers.ts';
import { queueMicrotask } from '../../web/scheduling/microtask.ts';
import { Buffer } from '../buffer/buffer.ts';
import type { NodeBuffer } from '../buffer/node-buffer.ts';
import { checkFunction, checkInteger, invalidArgType } from '../errors.ts';
import { GuestCodec, withErrno } from './codec.ts';
import { CODES, ZlibFormat } from './formats.ts';
import { streamClasses, tooLarge } from './streams.ts';
import { checkOptions } from './zlib-options.ts';

const INPUTS = ['string', 'Buffer', 'TypedArray', 'DataView', 'ArrayBuffer'];
const PIECE_BYTES = 1024 * 1024;

type Callback = (error: unknown, result?: NodeBuffer) => void;

function toBytes(value: unknown, name: string): Uint8Array {
  if (typeof value === 'string') return Buffer.from(value);
  if (isBufferSource(value)) return viewOf(value);
  throw invalidArgType(name, INPUTS, value);
}

function sync(format: ZlibFormat): (data: unknown, options?: unknown) => NodeBuffer {
  return (data, options) => {
    const bytes = toBytes(data, 'buffer');
    const checked = checkOptions(format, options);
    try {
      const length = opNumber(Op.ZlibSync, format, checked.json, bytes, checked.dictionary);
      return Buffer.from(takeBytes(length).buffer);
    } catch (error) {
      throw withErrno(error);
    }
  };
}

function withCallback(format: ZlibFormat): (data: unknown, options: unknown, callback?: unknown) => void {
  return (data, options, callback) => {
    const [given, done] = typeof options === 'function' ? [undefined, options] : [options, callback];
    checkFunction(done, 'callback');
    const run = done as Callback; // as checked
    const bytes = toBytes(data, 'buffer');
    const checked = checkOptions(format, given);
    const codec = new GuestCodec(format, checked);
    const pieces: NodeBuffer[] = [];
    let length = 0;
    const work = codec.write(bytes, 0, true, piece => {
      length += piece.byteLength;
      if (length > checked.maxOutputLength) throw tooLarge(checked.maxOutputLength);
      pieces.push(piece);
    });
    work.then(
      () => {
        codec.close();
        const result = Buffer.concat(pieces, length);
        queueMicrotask(() => run(null, result));
      },
      error => {
        codec.close();
        queueMicrotask(() => run(error));
      },
    );
  };
}

function crc32(data: unknown, value: unknown = 0): number {
  if (typeof data !== 'string' && !ArrayBuffer.isView(data))
    throw invalidArgType('data', ['Buffer', 'TypedArray', 'DataView', 'string'], data);
  checkInteger(value, 'value', 0, 2 ** 32 - 1);
  const bytes = toBytes(data, 'data');
  let sum: number = value;
  for (let at = 0; at < bytes.byteLength; at += PIECE_BYTES) {
    sum = op(Op.ZlibCrc32, bytes.subarray(at, at + PIECE_BYTES), sum) as number; // as the op table says
  }
  return sum;
}

/** The classes can be called without `new`. */
function callable(Class: new (options?: unknown) => object): object {
  return new Proxy(Class, { apply: (target, _receiver, args) => Reflect.construct(target, args) });
}

const classes = Object.fromEntries(Object.entries(streamClasses).map(([name, Class]) => [name, callable(Class)]));
const creators = Object.fromEntries(
  Object.entries(streamClasses).map(([name, Class]) => [`create${name}`, (options?: unknown) => new Class(options)]),
);

const codes: { [name: string]: unknown } = {};
for (const [name, number] of Object.entries(CODES)) {
  codes[name] = number;
  codes[`${number}`] = name;
}

export default {
  ...classes,
  ...creators,
  brotliCompress: withCallback(ZlibFormat.BrotliCompress),
  brotliCompressSync: sync(ZlibFormat.BrotliCompress),
  brotliDecompress: withCallback(ZlibFormat.BrotliDecompress),
  brotliDecompressSync: sync(ZlibFormat.BrotliDecompress),
  codes: Object.freeze(codes),
  crc32,
  deflate: withCallback(ZlibFormat.Deflate),
  deflateRaw: withCallback(ZlibFormat.DeflateRaw),
  deflateRawSync: sync(ZlibFormat.DeflateRaw),
  deflateSync: sync(ZlibFormat.Deflate),
  gunzip: withCallback(ZlibFormat.Gunzip),
  gunzipSync: sync(ZlibFormat.Gunzip),
  gzip: withCallback(ZlibFormat.Gzip),
  gzipSync: sync(ZlibFormat.Gzip),
  inflate: withCallback(ZlibFormat.Inflate),
  inflateRaw: withCallback(ZlibFormat.InflateRaw),
  inflateRawSync: sync(ZlibFormat.InflateRaw),
  inflateSync: sync(ZlibFormat.Inflate),
  unzip: withCallback(ZlibFormat.Unzip),
  unzipSync: sync(ZlibFormat.Unzip),
  zstdCompress: withCallback(ZlibFormat.ZstdCompress),
  zstdCompressSync: sync(ZlibFormat.ZstdCompress),
  zstdDecompress: withCallback(ZlibFormat.ZstdDecompress),
  zstdDecompressSync: sync(ZlibFormat.ZstdDecompress),
};
