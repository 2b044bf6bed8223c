/**
 * A thread whose guest realm is given objects of the host realm on purpose, after or without the hardening of rule R22. Answers how far
 * guest code gets with them.
 */
import process from 'node:process';
import vm from 'node:vm';
import { parentPort, workerData } from 'node:worker_threads';
import { createHostCall } from '../../../src/isolate/bridge.js';
import { hardenThread } from '../../../src/isolate/harden-thread.js';
import { basicOps } from '../../../src/isolate/ops/basics.js';
import { createRealm } from '../../../src/isolate/realm.js';

/** Climbs from the leaks along every property and prototype, and calls every constructor it finds with text to compile. */
const CLIMB = `(() => {
  const seen = new Set();
  const queue = [];
  const found = [];
  const add = value => {
    if ((typeof value !== 'object' && typeof value !== 'function') || value === null || seen.has(value)) return;
    seen.add(value);
    queue.push(value);
  };
  // The objects that were handed over belong to the guest; everything behind them belongs to the thread.
  const own = new Set(leaks.flatMap(leak => [leak, leak.prototype]));
  leaks.forEach(add);
  const mark = value => { if (value === 'COMPILED' || (value !== null && typeof value === 'object' && typeof value.binding === 'function')) found.push('process'); };
  while (queue.length > 0 && seen.size < 30000) {
    const object = queue.pop();
    try { add(Object.getPrototypeOf(object)); } catch {}
    let keys = [];
    try { keys = Reflect.ownKeys(object); } catch {}
    for (const key of keys) {
      let descriptor;
      try { descriptor = Object.getOwnPropertyDescriptor(object, key); } catch {}
      if (!descriptor) continue;
      add(descriptor.value); add(descriptor.get); add(descriptor.set);
    }
    try { mark(object.constructor('return this.process ? "COMPILED" : "COMPILED"')()); } catch {}
    try { mark(object.constructor.constructor('return "COMPILED"')()); } catch {}
    try { mark(object('return "COMPILED"')()); } catch {}
    try { object.planted = 1; if (Object.hasOwn(object, 'planted') && !own.has(object)) found.push('writable: ' + String(object.name)); } catch {}
  }
  return [...new Set(found)].join();
})()`;

// Calls of generators without a receiver reject.
process.on('unhandledRejection', () => {});

function iteratorHelpers(): unknown[] {
  // Not in the types of the oldest Node that is supported, nor in it.
  return vm.runInThisContext(
    `typeof Iterator === 'function' ? [[].values().map(() => {}), Iterator.from({ next: () => ({ done: true }) })] : []`,
  );
}

const leaks: readonly unknown[] = [
  {},
  () => {},
  async () => {},
  function* () {},
  async function* () {},
  new TypeError('host'),
  Promise.resolve(),
  [],
  new Uint8Array(1),
  new Map(),
  /x/,
  // Iterators and their helpers, whose prototypes no name leads to.
  [].values(),
  new Map().entries(),
  'x'.matchAll(/x/g),
  ...iteratorHelpers(),
];
if (workerData.isHardened === true) hardenThread();
const realm = createRealm(
  createHostCall([
    basicOps({
      currentInvocation: () => 1,
      leaveBytes: () => 0,
      begin: () => 0,
      log: () => {},
      takeBytes: () => undefined,
      charge: () => {},
      placeOf: place => place,
      settle: () => {},
      hold: () => {},
      reserve: () => {},
      room: () => Number.MAX_SAFE_INTEGER,
    }),
  ]),
);
realm.context.leaks = leaks;
parentPort?.postMessage(String(new vm.Script(CLIMB).runInContext(realm.context)));
