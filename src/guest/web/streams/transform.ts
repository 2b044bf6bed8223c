/** Transform streams that live inside other objects, such as `CompressionStream`. */
import {
  type ReadableStream,
  TransformStream,
  TransformStreamDefaultController,
  type WritableStream,
} from 'web-streams-polyfill';
import { getterOf, typedArrayLength, uncurry } from '../../primordials.ts';
import { ON_DEMAND } from './streams.ts';

const getTransformReadable = getterOf<ReadableStream>(TransformStream.prototype, 'readable');
const getTransformWritable = getterOf<WritableStream>(TransformStream.prototype, 'writable');
const enqueueTransformed = uncurry(
  TransformStreamDefaultController.prototype.enqueue as (
    this: TransformStreamDefaultController<unknown>,
    chunk: unknown,
  ) => void,
);

/** The two ends of a transform stream that lives inside another object. */
export interface Transform {
  readonly readable: ReadableStream;
  readonly writable: WritableStream;
}

export interface Transformer {
  transform(chunk: unknown, enqueue: (chunk: unknown) => void): Promise<void> | void;
  flush?(enqueue: (chunk: unknown) => void): Promise<void> | void;
  cancel?(reason: unknown): void;
}

/**
 * "Set up a TransformStream". @see https://streams.spec.whatwg.org/#transformstream-set-up
 *
 * @param bufferedBytes output that may wait for a reader; its chunks are bytes then. 0: a write waits until somebody reads
 */
export function createTransform(transformer: Transformer, bufferedBytes = 0): Transform {
  let enqueue: (chunk: unknown) => void = () => {};
  const stream = new TransformStream(
    {
      __proto__: null,
      start: (controller: TransformStreamDefaultController<unknown>) => {
        enqueue = chunk => enqueueTransformed(controller, chunk);
      },
      transform: (chunk: unknown) => transformer.transform(chunk, enqueue),
      flush: () => transformer.flush?.(enqueue),
      cancel: (reason: unknown) => transformer.cancel?.(reason),
    } as never, // a transformer without inherited members
    undefined,
    (bufferedBytes === 0
      ? ON_DEMAND
      : { __proto__: null, highWaterMark: bufferedBytes, size: typedArrayLength }) as never, // a strategy without inherited members
  );
  return { readable: getTransformReadable(stream), writable: getTransformWritable(stream) };
}
