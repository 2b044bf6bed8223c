/**
 * `readable.pipeTo(socket.writable)` where the bytes of the readable come from the host: they stay there. With options, or when something was read or is
 * being written, the streams move the bytes as they move all others.
 */
import type { HostBody } from '../host-body.ts';
import { defineProperty, uncurry, WeakMapCtor, weakMapGet, weakMapSet } from '../primordials.ts';
import { streamSource } from '../web/fetch/body.ts';
import { ReadableStream, type WritableStream } from '../web/streams/streams.ts';
import { isIdleWritable, pipeBeside } from '../web/streams/writable.ts';

/** Receives the body that the end of a writable stream must send first. */
type PipeTarget = (body: HostBody) => void;

const targets = new WeakMapCtor<WritableStream, PipeTarget>();

export function setPipeTarget(stream: WritableStream, target: PipeTarget): void {
  weakMapSet(targets, stream, target);
}

const pipeByChunks = uncurry(ReadableStream.prototype.pipeTo);

const { pipeTo } = {
  pipeTo(this: ReadableStream, destination: WritableStream, options: object | undefined = undefined): Promise<void> {
    const target = weakMapGet(targets, destination);
    if (target !== undefined && options === undefined && isIdleWritable(destination)) {
      const source = streamSource(this);
      if (source !== undefined) {
        target(source);
        return pipeBeside(this, destination, () => source.wasPiped());
      }
    }
    return pipeByChunks(this, destination, options as never); // the library checks them
  },
};

defineProperty(ReadableStream.prototype, 'pipeTo', {
  __proto__: null,
  value: pipeTo,
  writable: true,
  enumerable: true,
  configurable: true,
} as never); // a descriptor without inherited members
