// What the package takes of its process when it is imported: timers and clocks, before a test framework puts its own in their place. A host that waited
// for a faked timer would never continue. bundle-host.mjs puts these in the place of the global names, and of node:timers/promises.
import { performance as clock } from 'node:perf_hooks';
import process from 'node:process';
import timers from 'node:timers';
import promises from 'node:timers/promises';

export const { setTimeout, clearTimeout, setInterval, clearInterval, setImmediate, clearImmediate } = timers;
export const timersPromises = { setTimeout: promises.setTimeout, setImmediate: promises.setImmediate };
export const performance = clock;
export const nextTick = process.nextTick.bind(process);

const { Date: RealDate } = globalThis;
export const { queueMicrotask } = globalThis;
export { RealDate as Date };
