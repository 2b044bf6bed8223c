/**
 * Text in all encodings, by Node's ICU. Bytes of the guest are copied before they are decoded; a buffer that is kept for that
 * spares the allocation for all but long texts.
 */
import { isUtf8 } from 'node:buffer';
import { TextDecoder, TextEncoder } from 'node:util';
import { checkedInteger, checkedText, copyIn, copyWhenItFits, guestByteLength, OpError } from '../arguments.js';
import { Handles } from '../handles.js';
import type { OpSet } from '../op-set.js';
import { DecodeFlag, Op } from '../table.js';
import { decodeSingleByte, singleByteEncoding, singleByteTable } from './single-byte.js';

const MAX_TEXT = 0x1fff_ffff;
const MAX_BYTES = 0x1fff_ffff;
const MAX_LABEL = 256;
const SCRATCH_BYTES = 65_536;
/** Decoders that wait for more. */
const MAX_DECODERS = 1000;
const ALL_FLAGS = DecodeFlag.Fatal | DecodeFlag.KeepBom;

/** The ops of one isolate. */
export function encodingOps(): OpSet {
  const scratch = Buffer.allocUnsafeSlow(SCRATCH_BYTES);
  const encoder = new TextEncoder();
  const wholes = new Map<string, Decoder>();
  const decoders = new Handles<Decoder>('TextDecoder in the middle of a stream', MAX_DECODERS);
  let written = 0;

  /** A copy of the guest's bytes, valid until the next one. */
  function bytesOf(value: unknown): Buffer {
    const length = copyWhenItFits(scratch, value, MAX_BYTES);
    return length > SCRATCH_BYTES ? Buffer.from(copyIn(value, MAX_BYTES).buffer) : scratch.subarray(0, length);
  }

  /** UTF-8, the usual case, without an object for each text. */
  function decodeUtf8(value: unknown, flags: number): string {
    const length = copyWhenItFits(scratch, value, MAX_BYTES);
    const bytes = length > SCRATCH_BYTES ? Buffer.from(copyIn(value, MAX_BYTES).buffer) : scratch;
    if ((flags & DecodeFlag.Fatal) !== 0 && !isUtf8(bytes.subarray(0, length))) throw invalidData('utf-8');
    const skipsBom = (flags & DecodeFlag.KeepBom) === 0 && length > 2;
    const start = skipsBom && bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
    return bytes.toString('utf8', start, length);
  }

  function decodeWhole(bytes: Buffer, encoding: string, flags: number): string {
    const key = `${encoding} ${flags}`;
    let decoder = wholes.get(key);
    if (decoder === undefined) {
      decoder = createDecoder(encoding, flags);
      wholes.set(key, decoder);
    }
    return decoder(bytes, false);
  }

  return {
    [Op.TextDecoderLabel]: label => {
      const text = checkedText(label, MAX_TEXT);
      if (text.length > MAX_LABEL) return undefined;
      try {
        return new TextDecoder(text).encoding;
      } catch {
        return singleByteEncoding(text);
      }
    },
    [Op.TextDecode]: (bytes, encoding, flags) => {
      const name = checkedText(encoding, MAX_LABEL);
      const checkedFlags = checkedInteger(flags, 0, ALL_FLAGS);
      return name === 'utf-8' ? decodeUtf8(bytes, checkedFlags) : decodeWhole(bytesOf(bytes), name, checkedFlags);
    },
    [Op.TextDecoderOpen]: (encoding, flags, token) =>
      decoders.add(createDecoder(checkedText(encoding, MAX_LABEL), checkedInteger(flags, 0, ALL_FLAGS)), token),
    [Op.TextDecoderChunk]: (id, bytes, last) => {
      const decoder = decoders.get(id);
      if (last === 1) decoders.delete(id);
      return decoder(bytesOf(bytes), last !== 1);
    },
    [Op.TextDecoderClose]: id => {
      decoders.delete(id);
      return undefined;
    },
    [Op.TextEncode]: (text, target) => {
      const source = checkedText(text, MAX_TEXT);
      guestByteLength(target, Number.MAX_SAFE_INTEGER);
      // A synchronous write: the target was checked above to be a Uint8Array on a buffer that cannot shrink meanwhile.
      const result = encoder.encodeInto(source, target as Uint8Array);
      written = result.written;
      return result.read;
    },
    [Op.TextEncodeWritten]: () => written,
    [Op.TextLength]: text => Buffer.byteLength(checkedText(text, MAX_TEXT)),
  };
}

/** `continues`: more bytes follow. */
type Decoder = (bytes: Buffer, continues: boolean) => string;

function createDecoder(encoding: string, flags: number): Decoder {
  const isFatal = (flags & DecodeFlag.Fatal) !== 0;
  const table = singleByteTable(encoding);
  if (table !== undefined) {
    return bytes => {
      const text = decodeSingleByte(bytes, table, isFatal);
      if (text === undefined) throw invalidData(encoding);
      return text;
    };
  }
  let decoder: TextDecoder;
  try {
    // The standard has one decoder for both, which Node 20 has not.
    const name = encoding === 'gbk' ? 'gb18030' : encoding;
    decoder = new TextDecoder(name, { fatal: isFatal, ignoreBOM: (flags & DecodeFlag.KeepBom) !== 0 });
  } catch {
    throw new OpError('RangeError', 'The encoding is not supported');
  }
  return (bytes, continues) => {
    try {
      return decoder.decode(bytes, { stream: continues });
    } catch {
      throw invalidData(encoding);
    }
  };
}

function invalidData(encoding: string): OpError {
  return new OpError(
    'TypeError',
    `The encoded data was not valid for encoding ${encoding}`,
    'ERR_ENCODING_INVALID_ENCODED_DATA',
  );
}
