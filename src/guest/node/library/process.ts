/** The members of `process` that libraries need. */
import { queueMicrotask } from '../../web/scheduling/microtask.ts';

export default {
  nextTick(callback: (...args: unknown[]) => void, ...args: unknown[]): void {
    queueMicrotask(() => callback(...args));
  },
  env: {},
  version: 'v20.0.0',
  versions: {},
  platform: 'linux',
  emitWarning(): void {},
};
