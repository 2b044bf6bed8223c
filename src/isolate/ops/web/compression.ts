/**
 * Compression by Node's zlib, on copies of the guest's bytes alone. Output is made only as fast as the guest takes it, so that
 * a small input that unpacks to a huge one costs no memory here.
 */
import zlib from 'node:zlib';
import { checkedInteger, copyIn, OpError } from '../arguments.js';
import type { OpContext, OpSet } from '../op-set.js';
import { CompressFormat, Op } from '../table.js';
import { brotliWindowBytes } from './brotli-window.js';
import { GzipReader } from './gzip-reader.js';
import { type Codec, ZlibCodec } from './zlib-codec.js';

/** Past this number the one that has been idle longest is closed. */
const MAX_CODECS = 128;
const MAX_CHUNK_BYTES = 65_536;
/**
 * zlib works in threads of libuv's pool, which the clock of the isolate's thread does not show. The cost of a step varies with its data by a factor of forty.
 * It is charged at the rate of common data before, and corrected afterwards by its duration, which is never less than its CPU time. The correction is at most
 * the rate of the worst data, so that waiting for a thread is not charged.
 *
 * Measured on Node 20.20 by the process's CPU time over 4 MiB, in bytes a ms. Into a compressor: zeros 212,000, noise 34,000, text 17,700, two letters at
 * random 7,800, four 5,300. Out of a decompressor: 126,000 to 345,000; into it, where little comes out: 68,000 (blocks of 300 bytes, each with tables of its
 * own), 429,000 (empty blocks). Brotli, at the quality below: zeros 120,000 to 440,000, noise 75,000 to 140,000, text 24,000, sixteen letters at random 8,500.
 * Out of its decompressor: 93,000 to 380,000.
 */
const COMPRESSED_BYTES_PER_MS = 20_000;
const WORST_COMPRESSED_BYTES_PER_MS = 5000;
const UNPACKED_INPUT_BYTES_PER_MS = 200_000;
const WORST_UNPACKED_INPUT_BYTES_PER_MS = 60_000;
const WORST_UNPACKED_OUTPUT_BYTES_PER_MS = 100_000;
/** Two bytes of Brotli can ask for a table, and 500 for memory of a megabyte in which 256 of them are built. */
const WORST_BROTLI_INPUT_BYTES_PER_MS = 4000;
/** Handing a step to another thread and back. */
const STEP_MS = 0.01;
/** Outside of every heap. Measured: 225 KB; the engine knows of 16 KB of them. */
const COMPRESSOR_BYTES = 256 * 1024;
const DECOMPRESSOR_BYTES = 64 * 1024;
/** Measured: 1.3 MB with this quality and window. With a window of 256 KiB it is 3.6 MB, and with the default of 4 MiB more than 10. */
const BROTLI_COMPRESSOR_BYTES = 1.5 * 1024 * 1024;
const BROTLI_PARAMS = { [zlib.constants.BROTLI_PARAM_QUALITY]: 5, [zlib.constants.BROTLI_PARAM_LGWIN]: 16 };
/** Its state, and the tables of a block with 256 types of literals, of insertions and of distances. The window comes on top when it is known. */
const BROTLI_DECOMPRESSOR_BYTES = 3.5 * 1024 * 1024;

interface Opened {
  readonly codec: Codec;
  readonly isUnpacking: boolean;
  readonly isBrotli: boolean;
  /** Outside of every heap, as far as it is known. */
  heldBytes: number;
  hasInput: boolean;
}

export function compressionOps(context: OpContext): OpSet {
  const codecs = new Map<number, Opened>();
  let nextId = 1;

  const hold = (opened: Opened, bytes: number): void => {
    opened.heldBytes += bytes;
    context.hold(bytes);
  };
  const close = (id: number): void => {
    const opened = codecs.get(id);
    if (opened === undefined) return;
    codecs.delete(id);
    hold(opened, -opened.heldBytes);
    opened.codec.close();
  };
  return {
    [Op.CompressOpen]: (format, isDecompressing) => {
      const isUnpacking = isDecompressing === 1;
      const known: CompressFormat = checkedInteger(format, 0, CompressFormat.Brotli);
      const codec = createCodec(known, isUnpacking);
      for (const id of codecs.keys()) {
        if (codecs.size < MAX_CODECS) break;
        close(id);
      }
      const isBrotli = known === CompressFormat.Brotli;
      const opened: Opened = { codec, isUnpacking, isBrotli, heldBytes: 0, hasInput: false };
      hold(opened, initialBytes(opened));
      codecs.set(nextId, opened);
      return nextId++;
    },
    [Op.CompressWrite]: (id, bytes, isLast) => {
      const number = checkedInteger(id, 1, 0xffff_ffff);
      const opened = codecs.get(number);
      if (opened === undefined) throw new OpError('TypeError', 'The stream was closed, because too many were open');
      // The map is in the order of use.
      codecs.delete(number);
      codecs.set(number, opened);
      const { codec, isUnpacking, isBrotli } = opened;
      const input = copyIn(bytes, MAX_CHUNK_BYTES);
      const [first] = input;
      if (first !== undefined && !opened.hasInput) {
        opened.hasInput = true;
        if (isBrotli && isUnpacking) hold(opened, brotliWindowBytes(first));
      }
      const chargedMs = STEP_MS + input.length / (isUnpacking ? UNPACKED_INPUT_BYTES_PER_MS : COMPRESSED_BYTES_PER_MS);
      context.charge(chargedMs);
      const invocation = context.currentInvocation();
      const beganMs = performance.now();
      const settle = (outputBytes: number): void => {
        const worstMs =
          STEP_MS +
          (isUnpacking ? worstUnpackingMs(input.length, outputBytes, isBrotli) : worstPackingMs(input.length));
        context.settle(invocation, Math.min(performance.now() - beganMs, worstMs) - chargedMs);
      };
      const work = codec.step(input, isLast === 1).then(
        output => {
          settle(output.length);
          return output;
        },
        (error: unknown) => {
          settle(0);
          close(number);
          throw error instanceof OpError ? error : new OpError('TypeError', 'The compressed data is not valid');
        },
      );
      return context.begin(work);
    },
    [Op.CompressClose]: id => {
      close(checkedInteger(id, 1, 0xffff_ffff));
      return undefined;
    },
  };
}

function worstPackingMs(inputBytes: number): number {
  return inputBytes / WORST_COMPRESSED_BYTES_PER_MS;
}

function worstUnpackingMs(inputBytes: number, outputBytes: number, isBrotli: boolean): number {
  const inputRate = isBrotli ? WORST_BROTLI_INPUT_BYTES_PER_MS : WORST_UNPACKED_INPUT_BYTES_PER_MS;
  return inputBytes / inputRate + outputBytes / WORST_UNPACKED_OUTPUT_BYTES_PER_MS;
}

function initialBytes({ isUnpacking, isBrotli }: Opened): number {
  if (isBrotli) return isUnpacking ? BROTLI_DECOMPRESSOR_BYTES : BROTLI_COMPRESSOR_BYTES;
  return isUnpacking ? DECOMPRESSOR_BYTES : COMPRESSOR_BYTES;
}

function createCodec(format: CompressFormat, isDecompressing: boolean): Codec {
  switch (format) {
    case CompressFormat.Deflate:
      return new ZlibCodec(isDecompressing ? zlib.createInflate() : zlib.createDeflate());
    case CompressFormat.DeflateRaw:
      return new ZlibCodec(isDecompressing ? zlib.createInflateRaw() : zlib.createDeflateRaw());
    case CompressFormat.Gzip:
      return isDecompressing ? new GzipReader() : new ZlibCodec(zlib.createGzip());
    case CompressFormat.Brotli:
      return new ZlibCodec(
        isDecompressing ? zlib.createBrotliDecompress() : zlib.createBrotliCompress({ params: BROTLI_PARAMS }),
      );
  }
}
