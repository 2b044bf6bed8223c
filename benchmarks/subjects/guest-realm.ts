/** The guest realm in the process of a benchmark, without a host at the other end. */
import { readFileSync } from 'node:fs';
import vm from 'node:vm';
import { createHostCall, type HostCall } from '../../src/isolate/bridge.js';
import type { OpContext } from '../../src/isolate/ops/op-set.js';
import { platformOps } from '../../src/isolate/ops/platform.js';
import { Op } from '../../src/isolate/ops/table.js';

/** What the ops of a benchmark may ask for: nothing here waits. */
const context: OpContext = {
  currentInvocation: () => 2,
  leaveBytes: bytes => bytes.length,
  charge: () => {},
  placeOf: place => place,
  settle: () => {},
  reserve: () => {},
  room: () => Number.MAX_SAFE_INTEGER,
  hold: () => {},
  begin: work => {
    work.catch(() => {});
    return 1;
  },
};

const nothing = (): undefined => undefined;

/** The bridge with the ops of the web platform. */
export function benchmarkHostCall(): HostCall {
  return createHostCall([
    {
      [Op.Now]: () => performance.now(),
      [Op.Log]: nothing,
      [Op.Loaded]: nothing,
      [Op.Reply]: nothing,
      [Op.Done]: nothing,
    },
    ...platformOps(context),
  ]);
}

/** Evaluates the guest bundle in fresh contexts, by V8's code cache of an earlier evaluation; milliseconds of each. */
export function evaluateBundle(times: number): number[] {
  const source = readFileSync(new URL('../../src/isolate/guest.bundle.js', import.meta.url), 'latin1');
  const hostCall = benchmarkHostCall();
  const evaluate = (script: vm.Script, realm: vm.Context): void => {
    const install: unknown = script.runInContext(realm);
    if (typeof install !== 'function') throw new TypeError('The guest bundle answers with no function');
    Reflect.apply(install, undefined, [hostCall]);
  };
  const first = new vm.Script(source);
  evaluate(first, newContext());
  const cachedData = first.createCachedData();
  return Array.from({ length: times }, () => {
    const realm = newContext();
    const startMs = performance.now();
    const script = new vm.Script(source, { cachedData });
    evaluate(script, realm);
    const took = performance.now() - startMs;
    if (script.cachedDataRejected === true) throw new Error('V8 does not take its own code cache');
    return took;
  });
}

function newContext(): vm.Context {
  return vm.createContext(vm.constants.DONT_CONTEXTIFY, { codeGeneration: { strings: false, wasm: false } });
}
