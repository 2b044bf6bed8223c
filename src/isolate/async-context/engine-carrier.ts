/**
 * Carries frames by an AsyncLocalStorage, from Node 24 on: V8 itself then keeps the context of each reaction, in a place that no code can read. With the
 * option --no-async-context-frame Node keeps it as a property of promises, which guest code would see (rule R14). So that is checked first.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { FrameCarrier, FrameSlot } from './carrier.js';

const FIRST_MAJOR = 24;

/** Undefined where the engine does not keep the context. */
export function carryByEngine(slot: FrameSlot, version: string): FrameCarrier | undefined {
  if (Number.parseInt(version, 10) < FIRST_MAJOR) return undefined;
  const storage = new AsyncLocalStorage<unknown>();
  const leavesProperties = storage.run({}, () => Reflect.ownKeys(Promise.resolve()).length > 0);
  if (leavesProperties) {
    storage.disable();
    return undefined;
  }
  return {
    read: () => {
      slot.frame = storage.getStore();
    },
    write: () => storage.enterWith(slot.frame),
    clear: () => {
      slot.frame = undefined;
      storage.enterWith(undefined);
    },
    // Node reports a rejection in the context in which it came about.
    frameOfRejected: () => storage.getStore(),
    stop: () => storage.enterWith(undefined),
  };
}
