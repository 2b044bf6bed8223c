/** CompressionStream and DecompressionStream. @see https://compression.spec.whatwg.org/ */
import { CompressFormat, Op } from '../../../isolate/ops/table.ts';
import { op, opAsync, opNumber } from '../../bridge.ts';
import { TypeErrorCtor, typedArrayLength, typedArraySubarray, Uint8ArrayCtor } from '../../primordials.ts';
import { type BufferSource, copyOf, isBufferSource } from '../base/buffers.ts';
import { defineInterface, requireArguments, toEnum } from '../base/idl.ts';
import type { ReadableStream, WritableStream } from './streams.ts';
import { createTransform, type Transform, type Transformer } from './transform.ts';

const FORMATS = ['brotli', 'deflate', 'deflate-raw', 'gzip'] as const;
const NUMBERS = {
  __proto__: null,
  brotli: CompressFormat.Brotli,
  deflate: CompressFormat.Deflate,
  'deflate-raw': CompressFormat.DeflateRaw,
  gzip: CompressFormat.Gzip,
} as unknown as Record<(typeof FORMATS)[number], CompressFormat>; // without inherited names

const PIECE_BYTES = 65_536;
/** How much output waits for a reader before a write does, so that code can write all and read afterwards. */
const BUFFERED_BYTES = 262_144;
const NOTHING = new Uint8ArrayCtor(0);

export class CompressionStream {
  readonly #transform: Transform;

  constructor(format: unknown) {
    requireArguments(arguments.length, 1, 'CompressionStream constructor');
    this.#transform = createCodecTransform(format, 0);
  }

  get readable(): ReadableStream {
    return this.#transform.readable;
  }

  get writable(): WritableStream {
    return this.#transform.writable;
  }
}

export class DecompressionStream {
  readonly #transform: Transform;

  constructor(format: unknown) {
    requireArguments(arguments.length, 1, 'DecompressionStream constructor');
    this.#transform = createCodecTransform(format, 1);
  }

  get readable(): ReadableStream {
    return this.#transform.readable;
  }

  get writable(): WritableStream {
    return this.#transform.writable;
  }
}

defineInterface(CompressionStream);
defineInterface(DecompressionStream);

function createCodecTransform(format: unknown, isDecompressing: 0 | 1): Transform {
  const number = NUMBERS[toEnum(format, FORMATS, 'The format of the stream')];
  // Opened with the first chunk: many streams never see one.
  let codec: number | undefined;

  async function step(bytes: Uint8Array, isLast: boolean, enqueue: (chunk: Uint8Array) => void): Promise<void> {
    codec ??= opNumber(Op.CompressOpen, number, isDecompressing);
    for (let input = bytes; ; input = NOTHING) {
      const output = await opAsync(Op.CompressWrite, codec, input, isLast ? 1 : 0);
      const piece = output as Uint8Array; // the op table says that this op settles with bytes
      if (typedArrayLength(piece) === 0) return;
      enqueue(piece);
    }
  }

  const transformer: Transformer = {
    async transform(chunk, enqueue) {
      if (!isBufferSource(chunk))
        throw new TypeErrorCtor('A chunk of the stream is neither an ArrayBuffer nor a view of one');
      const bytes = copyOf(chunk as BufferSource);
      for (let at = 0; at < typedArrayLength(bytes); at += PIECE_BYTES) {
        await step(typedArraySubarray(bytes, at, at + PIECE_BYTES), false, enqueue);
      }
    },
    async flush(enqueue) {
      await step(NOTHING, true, enqueue);
      close();
    },
    cancel: close,
  };
  return createTransform(transformer, BUFFERED_BYTES);

  function close(): void {
    if (codec !== undefined) op(Op.CompressClose, codec);
  }
}
