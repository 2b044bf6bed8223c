/**
 * Estimates of memory and CPU time of node:zlib. The rates of zlib, and of Brotli with a quality of 5, were measured for web/compression.ts.
 */
import type { Format, ZlibOptions } from './formats.js';
import { param } from './formats.js';

const KIB = 1024;
const MIB = 1024 * KIB;

/** Outside of every heap, for as long as a stream is open. */
export function stateBytes(format: Format, options: ZlibOptions): number {
  if (format.family === 'zlib') {
    return (format.isUnpacking ? 64 : 256) * KIB;
  }
  if (format.family === 'brotli') {
    // The decoder's window is at most 16 MiB, which the first byte of the data chooses.
    if (format.isUnpacking) return 3.5 * MIB + 16 * MIB;
    return 1.5 * MIB + 8 * 2 ** param(options, 'BROTLI_PARAM_LGWIN', 22);
  }
  if (format.isUnpacking) return MIB + 2 ** param(options, 'ZSTD_d_windowLogMax', 27);
  const level = param(options, 'ZSTD_c_compressionLevel', 3);
  const tables = 4 * (2 ** param(options, 'ZSTD_c_hashLog', 17) + 2 ** param(options, 'ZSTD_c_chainLog', 16));
  return zstdLevelBytes(level) + 2 ** param(options, 'ZSTD_c_windowLog', 10) + tables;
}

function zstdLevelBytes(level: number): number {
  if (level <= 4) return 6 * MIB;
  if (level <= 9) return 24 * MIB;
  return level <= 15 ? 48 * MIB : 96 * MIB;
}

/** CPU milliseconds of common data. */
export function typicalMs(format: Format, options: ZlibOptions, inputBytes: number): number {
  return inputBytes / (format.isUnpacking ? 200_000 : packingRate(format, options));
}

/** CPU milliseconds of the most expensive data. */
export function worstMs(format: Format, options: ZlibOptions, inputBytes: number, outputBytes: number): number {
  if (format.isUnpacking) return inputBytes / (format.family === 'brotli' ? 4000 : 60_000) + outputBytes / 100_000;
  return (4 * inputBytes) / packingRate(format, options);
}

/** Bytes of input a millisecond. */
function packingRate(format: Format, options: ZlibOptions): number {
  if (format.family === 'zlib') return 20_000;
  if (format.family === 'zstd') {
    const level = param(options, 'ZSTD_c_compressionLevel', 3);
    return level <= 4 ? 100_000 : level <= 12 ? 15_000 : 1500;
  }
  const quality = param(options, 'BROTLI_PARAM_QUALITY', 11);
  return quality < 5 ? 60_000 : quality < 10 ? 20_000 : 700;
}
