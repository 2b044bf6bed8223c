/**
 * Fuzzes the guest realm: calls every function and getter that a function can reach with hostile arguments, then random ones, and after each
 * batch walks the graph of all objects in reach, each of whose prototype chains must end in the guest's own intrinsics (rule R19).
 */
import fc from 'fast-check';
import { type EdgeFunction, EdgeHost } from '../../src/index.js';
import { errorCode } from '../../src/quotas/errors.js';
import { PROBE } from '../attacks/probe.js';
import { GUEST } from './guest.js';

export interface FuzzOptions {
  readonly seconds: number;
  readonly seed: number;
  /** @default 'process' */
  readonly isolation?: 'process' | 'thread';
}

export interface FuzzResult {
  /** Functions and getters in reach. */
  readonly targets: number;
  /** Those that the time was enough to call, in turn, before the random calls. */
  readonly targetsCalled: number;
  readonly batches: number;
  readonly calls: number;
  /** Batches that ended with the isolate: by its limits, or because the calls broke the function's own realm. */
  readonly ended: number;
}

interface Call {
  readonly target: number;
  readonly receiver: number;
  readonly args: readonly number[];
  readonly how: number;
}

/** Reports one leak path a line; anything else that a wrecked realm answers counts as ended. */
const LEAK =
  /ESCAPED|a chain that ends elsewhere|a chain without end|a function without Function\.prototype|must not happen/;
const FINE = 'export default { fetch() { return new Response("fine"); } }';
/** Calls of one batch of the round through all targets. */
const ROUND_CALLS = 40;
/** What one batch has broken would hide what the next ones find. */
const FRESH_EVERY_BATCHES = 20;
const PATIENCE_MS = 5000;

const arbitraryCall: fc.Arbitrary<Call> = fc.record({
  target: fc.nat(100_000),
  receiver: fc.nat(100_000),
  args: fc.array(fc.nat(100_000), { maxLength: 4 }),
  how: fc.nat(7),
});

/** Rejects with the calls, or with fast-check's report of them, when an object of the host realm was found. */
export async function fuzz({ seconds, seed, isolation = 'process' }: FuzzOptions): Promise<FuzzResult> {
  const untilMs = performance.now() + seconds * 1000;
  const limits = { cpuMs: 500, cpuOverrunMs: 0, startupMs: 2000 };
  const host = new EdgeHost({ storage: ':memory:', isolation, limits });
  const count = { targets: 0, targetsCalled: 0, batches: 0, calls: 0, ended: 0 };
  const load = (): Promise<EdgeFunction> =>
    host.account('fuzzed').load({ main: 'main.js', modules: { 'main.js': GUEST, './probe.js': PROBE } }, { name: 'f' });
  try {
    const neighbour = await host.account('neighbour').load(FINE);
    let fn = await load();
    count.targets = Number(await (await fn.fetch('http://x/')).text());
    const reload = async (): Promise<void> => {
      fn.unload();
      fn = await load();
    };

    const run = async (calls: readonly Call[]): Promise<void> => {
      count.batches++;
      count.calls += calls.length;
      let text: string;
      try {
        text = await post(fn, JSON.stringify(calls));
      } catch (error) {
        count.ended++;
        if (errorCode(error) === 'EDGE_PROTOCOL') throw error;
        await reload();
        return;
      }
      if (LEAK.test(text)) {
        await reload();
        throw new Error(text);
      }
      if (text !== 'contained') count.ended++;
      if (count.batches % 50 === 0 && (await (await neighbour.fetch('http://x/')).text()) !== 'fine') {
        throw new Error('the neighbour does not answer');
      }
      if (count.batches % FRESH_EVERY_BATCHES === 0) await reload();
    };

    // Every target in turn: as a method and as a constructor, and with what else chance has.
    const batches = Math.ceil(count.targets / ROUND_CALLS);
    const chances = fc.sample(fc.array(arbitraryCall, { minLength: ROUND_CALLS, maxLength: ROUND_CALLS }), {
      seed,
      numRuns: batches,
    });
    for (const [index, chance] of chances.entries()) {
      if (performance.now() > untilMs) break;
      const calls = chance.map((call, at) => ({ ...call, target: index * ROUND_CALLS + at, how: call.how % 6 }));
      const inRange = calls.filter(({ target }) => target < count.targets);
      try {
        await run(inRange);
      } catch (error) {
        throw new Error(`${JSON.stringify(inRange)} led to ${String(error)}`, { cause: error });
      }
      count.targetsCalled += inRange.length;
    }

    const leftMs = untilMs - performance.now();
    if (leftMs > 0) {
      const arrays = fc.array(arbitraryCall, { minLength: 20, maxLength: 80, size: 'max' });
      await fc.assert(fc.asyncProperty(arrays, run), {
        seed,
        numRuns: 1_000_000,
        interruptAfterTimeLimit: leftMs,
        markInterruptAsFailure: false,
      });
    }
    return count;
  } finally {
    await host.close({ drainMs: 0 });
  }
}

async function post(fn: EdgeFunction, body: string): Promise<string> {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(), PATIENCE_MS);
  try {
    return await (await fn.fetch('http://x/', { method: 'POST', body, signal: controller.signal })).text();
  } finally {
    clearTimeout(timer);
  }
}
