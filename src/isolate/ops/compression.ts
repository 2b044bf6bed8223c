/**
 * Compression by Node's zlib, on copies of the guest's bytes alone. Output is made only as fast as the guest takes it, so that
 * a small input that unpacks to a huge one costs no memory here.
 */
import zlib from 'node:zlib';
import { checkedInteger, copyIn, OpError } from './arguments.js';
import { GzipReader } from './gzip-reader.js';
import type { OpContext, OpSet } from './op-set.js';
import { CompressFormat, Op } from './table.js';
import { type Codec, ZlibCodec } from './zlib-codec.js';

/** A compressor holds about 270 KB outside of any heap. When there are more, the one that rests longest is closed. */
const MAX_CODECS = 128;
const MAX_CHUNK_BYTES = 65_536;
/**
 * zlib works in threads of libuv's pool, which the clock of the isolate's thread does not show. Its time is charged by the bytes: those
 * that go into a compressor, those that come out of a decompressor. The rates are estimates, not measurements.
 */
const COMPRESSED_BYTES_PER_MS = 90_000;
const UNPACKED_BYTES_PER_MS = 300_000;

export function compressionOps(context: OpContext): OpSet {
  const codecs = new Map<number, Codec>();
  const decompressing = new WeakSet<Codec>();
  /** Output of which the next step pays: its end was not in a turn of the invocation. */
  const unpaid = new WeakMap<Codec, number>();
  let nextId = 1;

  const close = (id: number): void => {
    codecs.get(id)?.close();
    codecs.delete(id);
  };
  return {
    [Op.CompressOpen]: (format, isDecompressing) => {
      const codec = createCodec(checkedInteger(format, 0, 2), isDecompressing === 1);
      for (const id of codecs.keys()) {
        if (codecs.size < MAX_CODECS) break;
        close(id);
      }
      if (isDecompressing === 1) decompressing.add(codec);
      codecs.set(nextId, codec);
      return nextId++;
    },
    [Op.CompressWrite]: (id, bytes, isLast) => {
      const number = checkedInteger(id, 1, 0xffff_ffff);
      const codec = codecs.get(number);
      if (codec === undefined) throw new OpError('TypeError', 'The stream was closed, because too many were open');
      // The order of the map is that of use.
      codecs.delete(number);
      codecs.set(number, codec);
      const input = copyIn(bytes, MAX_CHUNK_BYTES);
      const isUnpacking = decompressing.has(codec);
      context.charge(isUnpacking ? (unpaid.get(codec) ?? 0) : input.length / COMPRESSED_BYTES_PER_MS);
      const stepped = codec.step(input, isLast === 1);
      if (isUnpacking)
        stepped.then(
          output => unpaid.set(codec, output.length / UNPACKED_BYTES_PER_MS),
          () => {},
        );
      const work = stepped.catch((error: unknown) => {
        close(number);
        throw error instanceof OpError ? error : new OpError('TypeError', 'The compressed data is not valid');
      });
      return context.begin(work);
    },
    [Op.CompressClose]: id => {
      close(checkedInteger(id, 1, 0xffff_ffff));
      return undefined;
    },
  };
}

function createCodec(format: CompressFormat, isDecompressing: boolean): Codec {
  switch (format) {
    case CompressFormat.Deflate:
      return new ZlibCodec(isDecompressing ? zlib.createInflate() : zlib.createDeflate());
    case CompressFormat.DeflateRaw:
      return new ZlibCodec(isDecompressing ? zlib.createInflateRaw() : zlib.createDeflateRaw());
    case CompressFormat.Gzip:
      return isDecompressing ? new GzipReader() : new ZlibCodec(zlib.createGzip());
  }
}
