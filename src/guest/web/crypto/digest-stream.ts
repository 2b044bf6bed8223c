/** crypto.DigestStream: a WritableStream whose bytes are digested as they come; the digest is a promise. */
import { Op } from '../../../isolate/ops/table.ts';
import { op, opBytes, opNumber } from '../../bridge.ts';
import { PromiseCtor, promiseThen, TypeErrorCtor, typedArrayBuffer, Uint8ArrayCtor } from '../../primordials.ts';
import { encodeUtf8 } from '../../utf8.ts';
import { bytesOf } from '../base/buffer-source.ts';
import { defineInterface, isObject, requireArguments, toDOMString } from '../base/idl.ts';
import { WritableStream } from '../streams/streams.ts';

export class DigestStream extends WritableStream {
  readonly #digest: Promise<ArrayBuffer>;
  #bytesWritten = 0;

  /** `algorithm`: MD5, SHA-1, SHA-256, SHA-384 or SHA-512, or an object with one as its name. */
  constructor(algorithm: unknown) {
    requireArguments(arguments.length, 1, 'DigestStream constructor');
    const name = isObject(algorithm) ? (algorithm as { name?: unknown }).name : algorithm; // read as unknown
    // While this lives, so does the digest in the host realm.
    const token = new Uint8ArrayCtor(0);
    const id = opNumber(Op.DigestOpen, toDOMString(name), token);
    let resolve: (digest: ArrayBuffer) => void;
    let reject: (reason: unknown) => void;
    const digest = new PromiseCtor<ArrayBuffer>((onDigest, onFailure) => {
      resolve = onDigest;
      reject = onFailure;
    });
    // A failed stream must not cause an unhandled rejection when its digest is not used.
    promiseThen(digest, undefined, () => {});
    super({
      write: (chunk: unknown) => {
        const bytes = typeof chunk === 'string' ? encodeUtf8(chunk) : bytesOf(chunk, 'A chunk of the DigestStream');
        this.#bytesWritten += bytes.length;
        op(Op.DigestUpdate, id, bytes);
      },
      close: () => {
        void token;
        resolve(typedArrayBuffer(opBytes(Op.DigestFinish, id)));
      },
      abort: reason => {
        op(Op.DigestClose, id);
        reject(reason ?? new TypeErrorCtor('The DigestStream was aborted'));
      },
    });
    this.#digest = digest;
  }

  get digest(): Promise<ArrayBuffer> {
    return this.#digest;
  }

  get bytesWritten(): number {
    return this.#bytesWritten;
  }
}

defineInterface(DigestStream);
