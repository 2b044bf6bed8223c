/** A call of a tool within a run, beside the same call of a callback by a function. */
import type { Account, AccountSandbox } from '../../src/index.js';
import { median } from '../measuring/statistics.js';

const WARM_UP = 50;
const CALLS = 500;
const AT_MOST = 10 * CALLS;

const CALLING = `for (let i = 0; i < ${WARM_UP + CALLS}; i++) await tools.add({ a: i, b: 1 });`;

/** The same calls by a function, of a callback. */
const FUNCTION = `export default { async fetch(request, env) {
  const tools = env.TOOLS;
  ${CALLING}
  return new Response('');
} }`;

export interface ToolCallTimes {
  /** Microseconds from one call to the next: a median. */
  readonly tool: () => Promise<number>;
  readonly callback: () => Promise<number>;
}

export async function toolCallTimes(account: Account): Promise<ToolCallTimes> {
  // Measured by the application's clock, because the clock of the code is coarse.
  const times: number[] = [];
  const add = ({ a, b }: { readonly a: number; readonly b: number }): number => {
    times.push(performance.now());
    return a + b;
  };
  const box: AccountSandbox = account.sandbox({
    name: 'calls',
    limits: { calls: AT_MOST, cpuMs: 60_000 },
    tools: { add: { run: add } },
  });
  const limits = { internalSubrequests: AT_MOST, cpuMs: 60_000 };
  const fn = await account.load(FUNCTION, { name: 'callback', limits, bindings: { TOOLS: { add } } });
  const measured = async (call: () => Promise<unknown>): Promise<number> => {
    times.length = 0;
    await call();
    if (times.length !== WARM_UP + CALLS) throw new Error(`${times.length} calls were made, not ${WARM_UP + CALLS}`);
    return median(times.slice(WARM_UP).map((time, at) => (time - (times[WARM_UP + at - 1] ?? 0)) * 1000));
  };
  return {
    tool: () => measured(() => box.run(CALLING)),
    callback: () => measured(async () => (await fn.fetch('http://localhost/')).text()),
  };
}
