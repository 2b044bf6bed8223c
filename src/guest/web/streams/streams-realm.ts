/** The replacements for globals that the streams library uses; its bundle imports them from here (see .scripts/guest-bundle.mjs). */
import { promiseResolve, promiseThen } from '../../primordials.ts';
import { copyArrayBuffer, detachArrayBuffer } from '../base/array-buffer.ts';
import { DOMException } from '../base/dom-exception.ts';
import { AbortController } from '../scheduling/abort.ts';

export { AbortController };

/** The library looks here for DOMException alone. */
const globalObject = { DOMException };

export { globalObject as globalThis };

const resolved = promiseResolve(undefined);

export function queueMicrotask(callback: () => void): void {
  promiseThen(resolved, callback);
}

/** Calls the callback in a microtask. The promise settles as the callback does. */
export function afterMicrotask<T>(callback: () => T | Promise<T>): Promise<T> {
  return promiseThen(resolved, callback) as Promise<T>; // the callback is the only branch
}

/** A buffer that no other code holds, and that is about to be enqueued. */
let given: ArrayBuffer | undefined;

/** The next transfer of this buffer hands it over as it is. Undefined: none does. */
export function giveAway(buffer: ArrayBuffer | undefined): void {
  given = buffer;
}

/**
 * The library clones only to transfer a buffer, and only on engines without ArrayBuffer.prototype.transfer. A transfer then costs a copy
 * and detaching the original, which is only needed for buffers that their holder could still change.
 */
export function structuredClone(buffer: ArrayBuffer): ArrayBuffer {
  if (buffer === given) {
    given = undefined;
    return buffer;
  }
  const copy = copyArrayBuffer(buffer);
  detachArrayBuffer(buffer);
  return copy;
}
