/** What the streams library finds under global names; its bundle imports them from here (see .scripts/bundle-isolate.mjs). */
import { promiseResolve, promiseThen } from '../primordials.ts';
import { AbortController } from './abort.ts';
import { copyArrayBuffer, detachArrayBuffer } from './array-buffer.ts';
import { DOMException } from './dom-exception.ts';

export { AbortController };

/** The library looks here for DOMException alone. */
const globalObject = { DOMException };

export { globalObject as globalThis };

const resolved = promiseResolve(undefined);

export function queueMicrotask(callback: () => void): void {
  promiseThen(resolved, callback);
}

/** The library clones only to transfer a buffer, and only on engines without ArrayBuffer.prototype.transfer. */
export function structuredClone(buffer: ArrayBuffer): ArrayBuffer {
  const copy = copyArrayBuffer(buffer);
  detachArrayBuffer(buffer);
  return copy;
}
