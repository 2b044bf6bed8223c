/**
 * Reads one gzip member, and refuses everything after it as the Compression standard wants. This file reads the frame of the format, because zlib's own reader
 * continues with further members and overlooks padding.
 * @see https://www.rfc-editor.org/rfc/rfc1952
 */
import zlib from 'node:zlib';
import { OpError } from '../arguments.js';
import { type Codec, trailingData, ZlibCodec } from './zlib-codec.js';

const HEADER_BYTES = 10;
const TRAILER_BYTES = 8;
/** Names and comments that are longer are not believed. */
const MAX_HEADER_BYTES = 65_536;

enum Flag {
  HeaderCrc = 2,
  Extra = 4,
  Name = 8,
  Comment = 16,
  Reserved = 0xe0,
}

const NOTHING = new Uint8Array(0);

export class GzipReader implements Codec {
  readonly #inflate = new ZlibCodec(zlib.createInflateRaw(), true);
  /** Header bytes until all of it is there, then trailer bytes. */
  #frame: Buffer = Buffer.alloc(0);
  #isHeaderRead = false;
  #isDataRead = false;
  #crc = 0;
  #size = 0;

  async step(bytes: Uint8Array, isLast: boolean): Promise<Uint8Array> {
    let data = bytes;
    if (!this.#isHeaderRead) {
      data = this.#readHeader(bytes, isLast);
      if (!this.#isHeaderRead) return NOTHING;
    }
    if (!this.#isDataRead) {
      const piece = await this.#inflate.step(data, false);
      if (piece.length > 0) {
        this.#crc = zlib.crc32(piece, this.#crc);
        this.#size = (this.#size + piece.length) >>> 0;
        return piece;
      }
      this.#isDataRead = this.#inflate.isEnded;
      data = this.#isDataRead ? this.#inflate.leftover : NOTHING;
    }
    this.#readTrailer(data);
    if (isLast && (!this.#isDataRead || this.#frame.length < TRAILER_BYTES)) {
      throw new OpError('TypeError', 'The compressed data ends too early');
    }
    return NOTHING;
  }

  close(): void {
    this.#inflate.close();
  }

  /** Answers what follows the header, once it is whole. */
  #readHeader(bytes: Uint8Array, isLast: boolean): Uint8Array {
    this.#frame = Buffer.concat([this.#frame, bytes]);
    const end = headerEnd(this.#frame);
    if (end === undefined) {
      if (isLast) throw new OpError('TypeError', 'The compressed data ends too early');
      if (this.#frame.length > MAX_HEADER_BYTES) throw invalidHeader();
      return NOTHING;
    }
    const rest = this.#frame.subarray(end);
    this.#isHeaderRead = true;
    this.#frame = Buffer.alloc(0);
    return rest;
  }

  #readTrailer(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    this.#frame = Buffer.concat([this.#frame, bytes]);
    if (this.#frame.length < TRAILER_BYTES) return;
    if (this.#frame.readUInt32LE(0) !== this.#crc || this.#frame.readUInt32LE(4) !== this.#size) {
      throw new OpError('TypeError', 'The compressed data does not match its checksum and size');
    }
    if (this.#frame.length > TRAILER_BYTES) throw trailingData();
  }
}

/** Where the header ends; undefined when it is not all there. */
function headerEnd(frame: Buffer): number | undefined {
  if ((frame[0] ?? 0x1f) !== 0x1f || (frame[1] ?? 0x8b) !== 0x8b || (frame[2] ?? 8) !== 8) throw invalidHeader();
  const flags = frame[3] ?? 0;
  if ((flags & Flag.Reserved) !== 0) throw invalidHeader();
  let at = HEADER_BYTES;
  if ((flags & Flag.Extra) !== 0) {
    if (frame.length < at + 2) return undefined;
    at += 2 + frame.readUInt16LE(at);
  }
  for (const flag of [Flag.Name, Flag.Comment]) {
    if ((flags & flag) === 0) continue;
    const end = at < frame.length ? frame.indexOf(0, at) : -1;
    if (end < 0) return undefined;
    at = end + 1;
  }
  if ((flags & Flag.HeaderCrc) !== 0) {
    if (frame.length < at + 2) return undefined;
    if (frame.readUInt16LE(at) !== (zlib.crc32(frame.subarray(0, at)) & 0xffff)) throw invalidHeader();
    at += 2;
  }
  return frame.length < at ? undefined : at;
}

function invalidHeader(): OpError {
  return new OpError('TypeError', 'The compressed data does not begin with a gzip header');
}
