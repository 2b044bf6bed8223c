/** TextEncoder and TextDecoder. @see https://encoding.spec.whatwg.org/ */
import { DecodeFlag, Op } from '../../../isolate/ops/table.ts';
import { op, opNumber, opString } from '../../bridge.ts';
import {
  MapCtor,
  mapGet,
  mapSet,
  RangeErrorCtor,
  reflectApply,
  stringCharCodeAt,
  stringFromCharCode,
  stringSlice,
  TypeErrorCtor,
  typedArrayLength,
  typedArrayName,
  typedArraySet,
  typedArraySubarray,
  Uint8ArrayCtor,
} from '../../primordials.ts';
import { type EncodeIntoResult, encodeUtf8, encodeUtf8Into } from '../../utf8.ts';
import { bytesOf } from '../base/buffer-source.ts';
import { defineInterface, requireArguments, toDictionary, toDOMString } from '../base/idl.ts';

export class TextEncoder {
  readonly #isEncoder = true;

  get encoding(): string {
    void this.#isEncoder;
    return 'utf-8';
  }

  encode(input: unknown = ''): Uint8Array {
    void this.#isEncoder;
    return encodeUtf8(toDOMString(input));
  }

  encodeInto(source: unknown, destination: unknown): EncodeIntoResult {
    void this.#isEncoder;
    requireArguments(arguments.length, 2, 'TextEncoder.encodeInto');
    const text = toDOMString(source);
    if (typedArrayName(destination) !== 'Uint8Array') throw new TypeErrorCtor('The destination is not a Uint8Array');
    const target = destination as Uint8Array; // its internal slot says so
    return encodeUtf8Into(text, target, typedArrayLength(target));
  }
}

defineInterface(TextEncoder);

const UTF_8 = 'utf-8';
const BOM = 0xfeff;
const NO_BYTES = new Uint8ArrayCtor(0);

/** The encodings of labels that function code has used; the host has the table of all labels. */
const encodings = new MapCtor<string, string>();
const MAX_CACHED_LABELS = 64;

/** The name of an encoding, lowercase; undefined when no encoding has that label. */
function encodingOf(label: string): string | undefined {
  if (label === UTF_8) return UTF_8;
  const known = mapGet(encodings, label);
  if (known !== undefined) return known;
  const encoding = op(Op.TextDecoderLabel, label);
  if (typeof encoding !== 'string') return undefined;
  if (encodings.size < MAX_CACHED_LABELS) mapSet(encodings, label, encoding);
  return encoding;
}

export class TextDecoder {
  readonly #encoding: string;
  readonly #isFatal: boolean;
  readonly #ignoreBom: boolean;
  #isStreaming = false;
  #isBomSeen = false;
  /** For UTF-8 and UTF-16: the bytes of a character that the last chunk has not completed. */
  #pending = NO_BYTES;
  /** For all other encodings: the decoder in the host realm that keeps the state between chunks. */
  #handle = 0;
  /** While this lives, so does the decoder in the host realm. */
  #token = NO_BYTES;

  constructor(label: unknown = UTF_8, options: unknown = undefined) {
    const text = toDOMString(label);
    const encoding = encodingOf(text);
    const members = toDictionary(options, 'The options of the TextDecoder');
    if (encoding === undefined || encoding === 'replacement') {
      throw new RangeErrorCtor(`"${stringSlice(text, 0, 64)}" is not the label of an encoding`);
    }
    this.#encoding = encoding;
    this.#isFatal = !!members?.fatal;
    this.#ignoreBom = !!members?.ignoreBOM;
  }

  get encoding(): string {
    return this.#encoding;
  }

  get fatal(): boolean {
    return this.#isFatal;
  }

  get ignoreBOM(): boolean {
    return this.#ignoreBom;
  }

  decode(input: unknown = undefined, options: unknown = undefined): string {
    const continues = !!toDictionary(options, 'The options of decode')?.stream;
    const bytes = input === undefined ? NO_BYTES : bytesOf(input, 'The input of decode');
    if (!this.#isStreaming) {
      this.#isBomSeen = false;
      if (!continues) return this.#finish(this.#decodeWhole(bytes));
    }
    this.#isStreaming = continues;
    try {
      const text = isUnicode(this.#encoding)
        ? this.#decodeUnicode(bytes, continues)
        : this.#decodeLegacy(bytes, continues);
      return this.#finish(text);
    } catch (error) {
      // The standard leaves the decoder as it is then; ours starts over.
      this.#reset();
      throw error;
    }
  }

  #reset(): void {
    this.#isStreaming = false;
    this.#pending = NO_BYTES;
    if (this.#handle !== 0) op(Op.TextDecoderClose, this.#handle);
    this.#handle = 0;
  }

  #decodeWhole(bytes: Uint8Array): string {
    const length = typedArrayLength(bytes);
    if (length <= SHORT && isAscii(bytes, length) && isAsciiSuperset(this.#encoding)) {
      return reflectApply(stringFromCharCode, undefined, bytes);
    }
    return opString(Op.TextDecode, bytes, this.#encoding, this.#flags());
  }

  #decodeUnicode(chunk: Uint8Array, continues: boolean): string {
    let bytes = chunk;
    const pendingLength = this.#pending.length;
    if (pendingLength > 0) {
      bytes = new Uint8ArrayCtor(pendingLength + typedArrayLength(chunk));
      typedArraySet(bytes, this.#pending);
      typedArraySet(bytes, chunk, pendingLength);
      this.#pending = NO_BYTES;
    }
    if (!continues) return this.#decodeWhole(bytes);
    const length = typedArrayLength(bytes);
    const kept =
      this.#encoding === UTF_8 ? incompleteUtf8(bytes, length) : incompleteUtf16(bytes, length, this.#encoding);
    if (kept === 0) return this.#decodeWhole(bytes);
    const pending = new Uint8ArrayCtor(kept);
    for (let i = 0; i < kept; i++) pending[i] = bytes[length - kept + i] ?? 0;
    this.#pending = pending;
    return this.#decodeWhole(typedArraySubarray(bytes, 0, length - kept));
  }

  #decodeLegacy(bytes: Uint8Array, continues: boolean): string {
    if (this.#handle === 0) {
      this.#token = new Uint8ArrayCtor(0);
      this.#handle = opNumber(Op.TextDecoderOpen, this.#encoding, this.#flags(), this.#token);
    }
    const handle = this.#handle;
    if (!continues) this.#handle = 0;
    return opString(Op.TextDecoderChunk, handle, bytes, continues ? 0 : 1);
  }

  #flags(): number {
    return this.#isFatal ? DecodeFlag.Fatal | DecodeFlag.KeepBom : DecodeFlag.KeepBom;
  }

  /** @see https://encoding.spec.whatwg.org/#concept-td-serialize */
  #finish(text: string): string {
    if (this.#isBomSeen || text.length === 0) return text;
    this.#isBomSeen = true;
    if (this.#ignoreBom || stringCharCodeAt(text, 0) !== BOM || !isUnicode(this.#encoding)) return text;
    return stringSlice(text, 1);
  }
}

defineInterface(TextDecoder);

/** Up to this many bytes, ASCII is decoded here faster than by a call of the bridge. */
const SHORT = 24;

function isAscii(bytes: Uint8Array, length: number): boolean {
  for (let i = 0; i < length; i++) if ((bytes[i] ?? 0x80) >= 0x80) return false;
  return true;
}

function isAsciiSuperset(encoding: string): boolean {
  return encoding === UTF_8 || encoding === 'windows-1252';
}

function isUnicode(encoding: string): boolean {
  return encoding === UTF_8 || encoding === 'utf-16le' || encoding === 'utf-16be';
}

/** The number of bytes at the end that begin a character which may still become valid. */
function incompleteUtf8(bytes: Uint8Array, length: number): number {
  for (let kept = 1; kept <= 3 && kept <= length; kept++) {
    const byte = bytes[length - kept] ?? 0;
    if (byte < 0x80) return 0;
    if (byte < 0xc0) continue;
    const needed = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
    if (byte < 0xc2 || byte > 0xf4 || needed <= kept) return 0;
    if (kept > 1 && !isSecondByte(byte, bytes[length - kept + 1] ?? 0)) return 0;
    return kept;
  }
  return 0;
}

function isSecondByte(lead: number, second: number): boolean {
  const min = lead === 0xe0 ? 0xa0 : lead === 0xf0 ? 0x90 : 0x80;
  const max = lead === 0xed ? 0x9f : lead === 0xf4 ? 0x8f : 0xbf;
  return second >= min && second <= max;
}

function incompleteUtf16(bytes: Uint8Array, length: number, encoding: string): number {
  const odd = length % 2;
  const high = bytes[length - odd - (encoding === 'utf-16le' ? 1 : 2)];
  const isHighSurrogate = length - odd >= 2 && high !== undefined && high >= 0xd8 && high <= 0xdb;
  return isHighSurrogate ? odd + 2 : odd;
}
