/** crypto. @see https://w3c.github.io/webcrypto/#crypto-interface */

import { Op } from '../../../isolate/ops/table.ts';
import { op, opString } from '../../bridge.ts';
import { TypeErrorCtor, typedArrayByteLength, typedArrayName } from '../../primordials.ts';
import { bytesOf } from '../base/buffer-source.ts';
import { DOMException, QuotaExceededError } from '../base/dom-exception.ts';
import { defineInterface, isObject, requireArguments } from '../base/idl.ts';
import { DigestStream } from './digest-stream.ts';
import { type SubtleCrypto, subtle } from './subtle.ts';

const MAX_RANDOM_BYTES = 65_536;
const INTEGER_ARRAYS: readonly string[] = [
  'Int8Array',
  'Uint8Array',
  'Uint8ClampedArray',
  'Int16Array',
  'Uint16Array',
  'Int32Array',
  'Uint32Array',
  'BigInt64Array',
  'BigUint64Array',
];

let isConstructing = false;

export class Crypto {
  readonly #isCrypto = true;

  constructor() {
    if (!isConstructing) throw new TypeErrorCtor('Illegal constructor');
  }

  /** A WritableStream that digests the chunks written to it. */
  get DigestStream(): typeof DigestStream {
    void this.#isCrypto;
    return DigestStream;
  }

  get subtle(): SubtleCrypto {
    void this.#isCrypto;
    return subtle;
  }

  getRandomValues(array: unknown): object {
    void this.#isCrypto;
    requireArguments(arguments.length, 1, 'crypto.getRandomValues');
    const name = isObject(array) ? typedArrayName(array) : undefined;
    if (!isObject(array) || name === undefined || !INTEGER_ARRAYS.includes(name)) {
      throw new DOMException('The array is not a typed array of integers', 'TypeMismatchError');
    }
    const byteLength = typedArrayByteLength(array);
    if (byteLength > MAX_RANDOM_BYTES) {
      throw new QuotaExceededError(`The array has ${byteLength} bytes, at most ${MAX_RANDOM_BYTES} are filled at once`);
    }
    if (byteLength > 0) op(Op.Random, bytesOf(array, 'The array'));
    return array;
  }

  randomUUID(): string {
    void this.#isCrypto;
    return opString(Op.RandomUuid);
  }
}

defineInterface(Crypto);

isConstructing = true;
export const crypto = new Crypto();
isConstructing = false;
