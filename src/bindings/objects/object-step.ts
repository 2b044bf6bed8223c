/** The calls of the storage of stateful objects that answers wait for, read before the service answers them. */
import { isObject } from '../../quotas/schema/describe.js';
import type { ObjectStep } from '../binding.js';
import { OPEN, STORAGE_HEAD_BYTES, WRITE, type WriteArguments } from './storage-wire.js';

/** The service refuses calls with longer arguments, and the client sends none. */
export function objectStep(method: string, argumentText: string): ObjectStep | undefined {
  if ((method !== WRITE && method !== OPEN) || argumentText.length > STORAGE_HEAD_BYTES) return undefined;
  let args: unknown;
  try {
    args = JSON.parse(argumentText);
  } catch {
    return undefined;
  }
  if (!isObject(args)) return undefined;
  const { c: className, i: id, u: isFree }: { readonly [Name in keyof WriteArguments]?: unknown } = args;
  if (typeof className !== 'string' || typeof id !== 'string' || isFree === true) return undefined;
  return { className, id, isNew: method === OPEN };
}
