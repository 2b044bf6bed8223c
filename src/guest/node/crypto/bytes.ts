/** Bytes and texts as node:crypto takes and gives them. */

import { isBufferSource, viewOf } from '../../web/base/buffers.ts';
import { queueMicrotask } from '../../web/scheduling/microtask.ts';
import { Buffer } from '../buffer/buffer.ts';
import type { NodeBuffer } from '../buffer/node-buffer.ts';
import { codeError, invalidArgType } from '../errors.ts';

export const BYTES = ['string', 'ArrayBuffer', 'Buffer', 'TypedArray', 'DataView'] as const;
export const VIEWS = ['string', 'Buffer', 'TypedArray', 'DataView'] as const;

/** Bytes that function code gives: as a view on its own memory, or encoded from a text. */
export function toBytes(
  value: unknown,
  name: string,
  encoding?: unknown,
  expected: readonly string[] = BYTES,
): Uint8Array {
  if (typeof value === 'string') return Buffer.from(value, encodingOf(encoding));
  if (isBufferSource(value)) {
    const view = viewOf(value);
    return new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
  }
  throw invalidArgType(name, expected, value);
}

function encodingOf(encoding: unknown): string {
  if (encoding === undefined || encoding === null || encoding === 'buffer') return 'utf8';
  if (typeof encoding === 'string' && Buffer.isEncoding(encoding)) return encoding;
  throw codeError(TypeError, 'ERR_UNKNOWN_ENCODING', `Unknown encoding: ${String(encoding)}`);
}

/** A result, as text when the caller names an encoding. */
export function encoded(bytes: NodeBuffer, encoding: unknown): NodeBuffer | string {
  if (encoding === undefined || encoding === null || encoding === 'buffer') return bytes;
  return bytes.toString(encodingOf(encoding));
}

/** The arguments of a function of Node whose last one may be a callback. */
export type DoneCallback = (error: unknown, ...values: unknown[]) => void;

export function checkCallback(value: unknown): asserts value is DoneCallback {
  if (typeof value !== 'function') throw invalidArgType('callback', 'function', value);
}

/** Calls back outside of the promise, so that what the callback throws is an uncaught exception and not a rejection. */
export function callBack(
  callback: DoneCallback,
  work: Promise<unknown>,
  spread?: (value: never) => readonly unknown[],
): void {
  work.then(
    value => queueMicrotask(() => callback(null, ...(spread === undefined ? [value] : spread(value as never)))), // of its own call
    error => queueMicrotask(() => callback(error)),
  );
}
