/**
 * A host on which one account hoards while two others are asked at a steady rate. Arguments: the name of the hoard, the folder of the
 * storage, the URL of an endless source.
 */
import { readdirSync } from 'node:fs';
import process from 'node:process';
import { setTimeout as pause } from 'node:timers/promises';
import { type EdgeFunction, EdgeHost } from '../../src/index.js';
import { errorCode } from '../../src/quotas/errors.js';
import { byteStream } from '../byte-stream.js';
import type { HoardReport } from '../containment/hoard-report.js';
import { HOARDS, LARGE_BYTES, sourceOf } from '../containment/hoards.js';
import { percentile } from '../statistics.js';
import { type Ask, SteadyAsker } from '../steady-asker.js';
import { answerMessages } from './answer-messages.js';

const BYSTANDERS = 2;
const ASK_EVERY_MS = 5;
const ANSWERED_WITHIN_MS = 5000;
const GOOD = 'export default { fetch() { return new Response("fine") } };';

const [name = '', storage = '', source = ''] = process.argv.slice(2);
const hoard = HOARDS.find(known => known.name === name);
if (hoard === undefined) throw new Error(`There is no hoard "${name}"`);
const host = new EdgeHost({ storage, egress: { allow: ['127.0.0.0/8'] } });
const bystanders: EdgeFunction[] = [];
for (let at = 0; at < BYSTANDERS; at++) bystanders.push(await host.account(`bystander-${at}`).load(GOOD));

const account = host.account('hoarder', { plan: hoard.plan });
await account.bucket('files').put('large', byteStream(LARGE_BYTES));
const functions: EdgeFunction[] = [];
for (let at = 0; at < hoard.functions; at++) {
  const fn = await account.load(sourceOf(hoard), {
    name: `hoard-${at}`,
    buckets: { FILES: 'files' },
    vars: { SOURCE: source },
  });
  await (await fn.fetch('http://hoarder/')).text();
  functions.push(fn);
}

/** The answer, or the code of the error in its place. */
const ask =
  (fn: EdgeFunction): Ask =>
  () =>
    fn.fetch('http://good/').then(
      async response => (await response.text()).slice(0, 100),
      (error: unknown) => errorCode(error) ?? String(error),
    );

async function play(seconds: number, isHoarding: boolean): Promise<HoardReport> {
  const ends: Record<string, number> = {};
  const before = openDescriptors();
  let mostDescriptors = before;
  const counting = setInterval(() => {
    mostDescriptors = Math.max(mostDescriptors, openDescriptors());
  }, 100);
  const asked = new SteadyAsker(bystanders.map(ask), ASK_EVERY_MS / BYSTANDERS);
  const over = pause(seconds * 1000);
  if (isHoarding) void request(ends);
  await over;
  asked.stop();
  await Promise.race([asked.answered(), pause(ANSWERED_WITHIN_MS, undefined, { ref: false })]);
  clearInterval(counting);
  const waiting = asked.waitingMs();
  const timesMs = [...asked.timesMs, ...waiting];
  return {
    lost: asked.reasons.length + waiting.length,
    reasons: [...new Set(asked.reasons)],
    p99Ms: percentile(timesMs, 0.99),
    maxMs: percentile(timesMs, 1),
    descriptors: mostDescriptors - before,
    ends,
  };
}

async function request(ends: Record<string, number>): Promise<void> {
  const { requests, isInTurn = false, everyMs = 0 } = hoard ?? { requests: 0 };
  const one = (fn: EdgeFunction): Promise<void> =>
    fn.fetch('http://hoarder/?hoard').then(
      response => count(ends, `status ${response.status}`),
      (error: unknown) => count(ends, errorCode(error) ?? String(error)),
    );
  for (let at = 0; at < requests; at++) {
    for (const fn of functions) {
      const answered = one(fn);
      if (isInTurn) await answered;
    }
    if (everyMs > 0) await pause(everyMs);
  }
}

function count(ends: Record<string, number>, end: string): void {
  ends[end] = (ends[end] ?? 0) + 1;
}

function openDescriptors(): number {
  return readdirSync('/proc/self/fd').length;
}

answerMessages(
  {
    cell: async () => host.health().cells.findLast(cell => cell.account === account.id)?.pid,
    alone: seconds => play(Number(seconds), false),
    hoard: seconds => play(Number(seconds), true),
  },
  () => host.close({ drainMs: 0 }),
);
