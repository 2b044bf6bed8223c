/** TextEncoderStream and TextDecoderStream. @see https://encoding.spec.whatwg.org/#interface-textdecoderstream */
import { stringCharCodeAt, stringSlice, TypeErrorCtor, typedArrayLength } from '../../primordials.ts';
import { encodeUtf8 } from '../../utf8.ts';
import { copyOf, isBufferSource } from '../base/buffers.ts';
import { defineInterface, toDOMString } from '../base/idl.ts';
import { type ReadableStream, TransformStream, type WritableStream } from '../streams/streams.ts';
import { TextDecoder } from './encoding.ts';

const { decode } = TextDecoder.prototype;

export class TextDecoderStream {
  readonly #decoder: TextDecoder;
  readonly #transform: TransformStream;

  constructor(label: unknown = 'utf-8', options: unknown = undefined) {
    const decoder = new TextDecoder(label, options);
    this.#decoder = decoder;
    this.#transform = new TransformStream({
      transform(chunk: unknown, controller) {
        if (!isBufferSource(chunk)) throw new TypeErrorCtor('A chunk is not an ArrayBuffer or a view on one');
        const text = Reflect.apply(decode, decoder, [copyOf(chunk), { stream: true }]);
        if (text !== '') controller.enqueue(text);
      },
      flush(controller) {
        const text = Reflect.apply(decode, decoder, []);
        if (text !== '') controller.enqueue(text);
      },
    });
  }

  get encoding(): string {
    return this.#decoder.encoding;
  }

  get fatal(): boolean {
    return this.#decoder.fatal;
  }

  get ignoreBOM(): boolean {
    return this.#decoder.ignoreBOM;
  }

  get readable(): ReadableStream {
    return this.#transform.readable;
  }

  get writable(): WritableStream {
    return this.#transform.writable;
  }
}

defineInterface(TextDecoderStream);

export class TextEncoderStream {
  readonly #transform: TransformStream;

  constructor() {
    // A pair of surrogates may come in two chunks.
    let pending = '';
    this.#transform = new TransformStream({
      transform(chunk: unknown, controller) {
        let text = pending + toDOMString(chunk);
        pending = '';
        const last = text.length > 0 ? stringCharCodeAt(text, text.length - 1) : 0;
        if (last >= 0xd800 && last <= 0xdbff) {
          pending = stringSlice(text, text.length - 1);
          text = stringSlice(text, 0, text.length - 1);
        }
        const bytes = encodeUtf8(text);
        if (typedArrayLength(bytes) > 0) controller.enqueue(bytes);
      },
      flush(controller) {
        if (pending !== '') controller.enqueue(encodeUtf8(pending));
      },
    });
  }

  get encoding(): string {
    void this.#transform;
    return 'utf-8';
  }

  get readable(): ReadableStream {
    return this.#transform.readable;
  }

  get writable(): WritableStream {
    return this.#transform.writable;
  }
}

defineInterface(TextEncoderStream);
