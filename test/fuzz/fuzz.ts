/** Fuzzes the guest realm: random calls of everything that a function can reach, and after each batch a search for objects of the host. */
import fc from 'fast-check';
import { EdgeHost } from '../../src/index.js';
import { errorCode } from '../../src/quotas/errors.js';
import { PROBE } from '../attacks/probe.js';
import { GUEST } from './guest.js';

export interface FuzzOptions {
  readonly seconds: number;
  readonly seed: number;
}

export interface FuzzResult {
  readonly batches: number;
  readonly calls: number;
  /** Batches that ended with the isolate: by its limits, or because the calls broke the function's own realm. */
  readonly ended: number;
}

/** Reports one leak path a line; anything else that a wrecked realm answers counts as ended. */
const LEAK = /ESCAPED|a chain that ends elsewhere|a function without Function\.prototype|must not happen/;
const FINE = 'export default { fetch() { return new Response("fine"); } }';

const call = fc.record({
  target: fc.nat(100_000),
  receiver: fc.nat(100_000),
  args: fc.array(fc.nat(100_000), { maxLength: 4 }),
  how: fc.nat(7),
});

/** Rejects with fast-check's report, the shrunk calls and the seed in it, when an object of the host realm was found. */
export async function fuzz({ seconds, seed }: FuzzOptions): Promise<FuzzResult> {
  const host = new EdgeHost({ storage: ':memory:', limits: { cpuMs: 500, cpuOverrunMs: 0, startupMs: 2000 } });
  const count = { batches: 0, calls: 0, ended: 0 };
  const load = () =>
    host.account('fuzzed').load({ main: 'main.js', modules: { 'main.js': GUEST, './probe.js': PROBE } }, { name: 'f' });
  try {
    const neighbour = await host.account('neighbour').load(FINE);
    let fn = await load();
    const property = fc.asyncProperty(fc.array(call, { minLength: 20, maxLength: 80, size: 'max' }), async calls => {
      count.batches++;
      count.calls += calls.length;
      let text: string;
      try {
        const controller = new AbortController();
        const timer = setTimeout(() => controller.abort(), 5000);
        const response = await fn.fetch('http://x/', {
          method: 'POST',
          body: JSON.stringify(calls),
          signal: controller.signal,
        });
        text = await response.text();
        clearTimeout(timer);
      } catch (error) {
        count.ended++;
        if (errorCode(error) === 'EDGE_PROTOCOL') throw error;
        fn.unload();
        fn = await load();
        return;
      }
      if (LEAK.test(text)) {
        fn.unload();
        fn = await load();
        throw new Error(text);
      }
      if (text !== 'contained') count.ended++;
      if (count.batches % 50 === 0 && (await (await neighbour.fetch('http://x/')).text()) !== 'fine') {
        throw new Error('the neighbour does not answer');
      }
      // What one batch has broken would hide what the next ones find.
      if (count.batches % 20 === 0) {
        fn.unload();
        fn = await load();
      }
    });
    await fc.assert(property, {
      seed,
      numRuns: 1_000_000,
      interruptAfterTimeLimit: seconds * 1000,
      markInterruptAsFailure: false,
    });
    return count;
  } finally {
    await host.close({ drainMs: 0 });
  }
}
