/** Moving ArrayBuffers: what "transfer" means in the standards. */
import { Op } from '../../../isolate/ops/table.ts';
import { op } from '../../bridge.ts';
import {
  ArrayBufferCtor,
  arrayBufferByteLength,
  arrayBufferSlice,
  Uint8ArrayCtor,
  uncurry,
} from '../../primordials.ts';

/** `ArrayBuffer.prototype.transfer`, from Node 21 on. */
const nativeTransfer: ((self: ArrayBuffer) => ArrayBuffer) | undefined = findNative('transfer');
const nativeDetached: ((self: ArrayBuffer) => boolean) | undefined = findNative('detached');

function findNative<R>(name: string): ((self: ArrayBuffer) => R) | undefined {
  const { value, get } = Object.getOwnPropertyDescriptor(ArrayBuffer.prototype, name) ?? {};
  return value === undefined && get === undefined ? undefined : uncurry(value ?? get);
}

export function isDetached(buffer: ArrayBuffer): boolean {
  if (nativeDetached !== undefined) return nativeDetached(buffer);
  if (arrayBufferByteLength(buffer) > 0) return false;
  try {
    new Uint8ArrayCtor(buffer);
    return false;
  } catch {
    return true;
  }
}

export function copyArrayBuffer(buffer: ArrayBuffer): ArrayBuffer {
  const length = arrayBufferByteLength(buffer);
  return length === 0 ? new ArrayBufferCtor(0) : arrayBufferSlice(buffer, 0, length);
}

/** Leaves the buffer without bytes. */
export function detachArrayBuffer(buffer: ArrayBuffer): void {
  if (nativeTransfer !== undefined) nativeTransfer(buffer);
  else op(Op.Detach, new Uint8ArrayCtor(buffer));
}
