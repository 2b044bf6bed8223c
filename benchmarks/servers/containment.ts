/**
 * A host on which several accounts set off bombs at once while others are asked at a steady rate. For the number of a round it sets off
 * every bomb once, and sends a {@link BombReport} for each and a {@link RoundReport} at the end.
 */
import process from 'node:process';
import { type Account, type EdgeFunction, EdgeHost, type LoadOptions } from '../../src/index.js';
import { errorCode } from '../../src/quotas/errors.js';
import { CPU_BOMBS, MEMORY_BOMBS } from '../containment/bombs.js';
import { percentile } from '../measuring/statistics.js';
import { SteadyAsker } from '../measuring/steady-asker.js';

export interface BombReport {
  readonly bomb: string;
  /** How the bomb ended: the code of the error, or the answer. */
  readonly end: string;
  readonly tookMs: number;
  /** The answer of its function right afterwards. */
  readonly back: string;
}

export interface RoundReport {
  readonly lost: number;
  readonly late: number;
  readonly served: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** Why requests were lost. */
  readonly reasons: readonly string[];
  /** Requests that other functions of the bombing accounts lost, with their process at worst. */
  readonly siblingsLost: number;
}

const BOMBERS = 4;
const BYSTANDERS = 2;
const ASK_EVERY_MS = 5;
const ASK_SIBLINGS_EVERY_MS = 50;
const LATE_MS = 250;
const GOOD = 'export default { fetch() { return new Response("fine") } };';

const PLENTY: LoadOptions['limits'] = { cpuMs: 10_000 };
const SHORT: LoadOptions['limits'] = { cpuMs: 100, cpuOverrunMs: 0 };
const bombs = [
  ...MEMORY_BOMBS.map(([name, body]) => ({ name, body, limits: PLENTY })),
  ...CPU_BOMBS.map(([name, body]) => ({ name, body, limits: SHORT })),
];

/** The answer, or the code of the error in its place. */
function textOf(fn: EdgeFunction, url = 'http://x/'): Promise<string> {
  return fn.fetch(url).then(
    async response => (await response.text().catch(() => 'a broken body')).slice(0, 20),
    (error: unknown) => errorCode(error) ?? String(error),
  );
}

/** Each of them so often. */
function ask(functions: readonly EdgeFunction[], everyMs: number): SteadyAsker {
  return new SteadyAsker(
    functions.map(fn => () => textOf(fn)),
    everyMs / functions.length,
  );
}

async function setOff(account: Account, { name, body, limits = {} }: (typeof bombs)[number]): Promise<void> {
  const source = `export default { async fetch(request) { if (request.url.endsWith('/bomb')) { ${body} } return new Response('fine'); } };`;
  const fn = await account.load(source, { name: 'bomb', limits });
  const started = performance.now();
  const end = await textOf(fn, 'http://x/bomb');
  const tookMs = performance.now() - started;
  const report: BombReport = { bomb: name, end, tookMs, back: await textOf(fn) };
  process.send?.(report);
  fn.unload();
}

const host = new EdgeHost({ storage: ':memory:', warmCells: 0 });
const accounts = Array.from({ length: BOMBERS }, (_, at) => host.account(`bomber-${at}`));
const siblings = await Promise.all(accounts.map(account => account.load(GOOD, { name: 'sibling' })));
const bystanders = await Promise.all(
  Array.from({ length: BYSTANDERS }, (_, at) => host.account(`bystander-${at}`).load(GOOD)),
);

async function playRound(round: number): Promise<RoundReport> {
  const asked = ask(bystanders, ASK_EVERY_MS);
  const askedSiblings = ask(siblings, ASK_SIBLINGS_EVERY_MS);
  // Each round begins with another one, so that others meet.
  const left = bombs.map((_, at) => bombs[(at * 7 + round) % bombs.length]);
  await Promise.all(
    accounts.map(async account => {
      for (let bomb = left.pop(); bomb !== undefined; bomb = left.pop()) await setOff(account, bomb);
    }),
  );
  for (const asker of [asked, askedSiblings]) asker.stop();
  await Promise.all([asked.answered(), askedSiblings.answered()]);
  const { timesMs, reasons } = asked;
  return {
    lost: reasons.length,
    late: timesMs.filter(ms => ms > LATE_MS).length,
    served: timesMs.length,
    p99Ms: percentile(timesMs, 0.99),
    maxMs: percentile(timesMs, 1),
    reasons: [...new Set(reasons)],
    siblingsLost: askedSiblings.reasons.length,
  };
}

process.on('message', (round: number) => void playRound(round).then(report => process.send?.(report)));
process.on('disconnect', () => void host.close({ drainMs: 0 }).then(() => process.exit(0)));
process.send?.('ready');
