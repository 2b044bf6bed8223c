/** What the streams library finds under global names; its bundle imports them from here (see .scripts/build-guest.mjs). */
import { promiseResolve, promiseThen, typedArraySet, Uint8ArrayCtor } from '../primordials.ts';
import { AbortController } from './abort.ts';
import { DOMException } from './dom-exception.ts';

export { AbortController };

/** The library looks here for DOMException alone. */
const globalObject = { DOMException };

export { globalObject as globalThis };

const resolved = promiseResolve(undefined);

export function queueMicrotask(callback: () => void): void {
  promiseThen(resolved, callback);
}

/** Only for the transfer of a buffer, on engines without ArrayBuffer.prototype.transfer: there it is a copy. */
export function structuredClone(buffer: ArrayBuffer): ArrayBuffer {
  const copy = new Uint8ArrayCtor(buffer.byteLength);
  typedArraySet(copy, new Uint8ArrayCtor(buffer));
  return copy.buffer as ArrayBuffer; // made in a buffer of its own
}
