/**
 * A host on which one account hoards while two others are asked at a steady rate. Arguments: the name of the hoard, the folder of the
 * storage, the URL of an endless source, the path of the native program.
 */
import { existsSync, readdirSync, readlinkSync } from 'node:fs';
import process from 'node:process';
import { setTimeout as pause } from 'node:timers/promises';
import { type EdgeFunction, EdgeHost } from '../../src/index.js';
import { errorCode } from '../../src/quotas/errors.js';
import type { HoardReport } from '../containment/hoard-report.js';
import { HIJACKED_HOARDS, HOARDS, type Hoard, LARGE_BYTES, NATIVE_HOARDS, sourceOf } from '../containment/hoards.js';
import { holdingsOf, isHarmless } from '../containment/holdings.js';
import { hijackCells } from '../hijacked/hijack.js';
import { byteStream } from '../measuring/byte-stream.js';
import { percentile } from '../measuring/statistics.js';
import { type Ask, SteadyAsker } from '../measuring/steady-asker.js';
import { answerMessages } from './answer-messages.js';

const BYSTANDERS = 2;
const ASK_EVERY_MS = 5;
const ANSWERED_WITHIN_MS = 5000;
const LOOK_EVERY_MS = 10;
const GOOD = 'export default { fetch() { return new Response("fine") } };';
const HOARDER = 'hoarder';
/** Honest requests before anything is measured: what the heap and the allocator grow to with them is not a hoard. */
const VISITS = 300;
const VISITS_AT_ONCE = 50;
const VISITED = `export default {
  async fetch(_request, env) {
    const range = { offset: 0, length: 65_536 };
    const objects = await Promise.all([1, 2, 3, 4, 5, 6].map(() => env.FILES.get('large', { range })));
    const read = await Promise.all(objects.map(object => object.arrayBuffer()));
    return new Response(String(read.length));
  },
};
`;

const [name = '', storage = '', source = '', nativePath = ''] = process.argv.slice(2);
const host = new EdgeHost({ storage, warmCells: 0, egress: { allow: ['127.0.0.0/8'] } });
const bystanders: EdgeFunction[] = [];
for (let at = 0; at < BYSTANDERS; at++) bystanders.push(await host.account(`bystander-${at}`).load(GOOD));
await playVisits();
const hoard = await prepare();

async function playVisits(): Promise<void> {
  const account = host.account('visited');
  await account.bucket('files').put('large', byteStream(LARGE_BYTES));
  const fn = await account.load(VISITED, { buckets: { FILES: 'files' } });
  for (let made = 0; made < VISITS; made += VISITS_AT_ONCE) {
    const visits = Array.from({ length: VISITS_AT_ONCE }, async () => (await fn.fetch('http://visited/')).text());
    if ((await Promise.all(visits)).some(read => read !== '6')) throw new Error('A visit read something else');
  }
  fn.unload();
}

/** Starts the hoard, once it has been prepared. Its argument is called with the outcomes of the hoarder's requests. */
type Begin = (count: (end: string) => void) => Promise<void>;

function prepare(): Promise<Begin> {
  const plain = HOARDS.find(known => known.name === name);
  if (plain !== undefined) return preparePlain(plain);
  if (HIJACKED_HOARDS.some(known => known.name === name)) return prepareHijacked();
  return prepareNative();
}

async function preparePlain(plain: Hoard): Promise<Begin> {
  const { requests, isInTurn = false } = plain;
  const account = host.account(HOARDER, { plan: plain.plan });
  await account.bucket('files').put('large', byteStream(LARGE_BYTES));
  const functions: EdgeFunction[] = [];
  for (let at = 0; at < plain.functions; at++) {
    const bindings = { buckets: { FILES: 'files' }, vars: { SOURCE: source } };
    const fn = await account.load(sourceOf(plain), { name: `hoard-${at}`, ...bindings });
    await (await fn.fetch('http://hoarder/')).text();
    functions.push(fn);
  }
  return async count => {
    for (let at = 0; at < requests; at++) {
      for (const fn of functions) {
        const answered = endOf(fn, 'http://hoarder/?hoard').then(count);
        if (isInTurn) await answered;
      }
    }
  };
}

async function prepareHijacked(): Promise<Begin> {
  hijackCells();
  const fn = await host.account(HOARDER).load(GOOD, { buckets: { FILES: 'files' } });
  return async count => count(await endOf(fn, `http://hoarder/?flood=${name}`));
}

/** The hoard begins with its first lease and never answers. */
async function prepareNative(): Promise<Begin> {
  const native = NATIVE_HOARDS.find(known => known.name === name);
  if (native === undefined) throw new Error(`There is no hoard "${name}"`);
  if (native.args[0] === 'children' && !hasOwnProcesses()) {
    throw new Error('Cells have no PID namespace here: children of a cell might outlive it');
  }
  hijackCells({ path: nativePath, args: native.args.map(String) });
  return async count => {
    const end = await host
      .account(HOARDER)
      .load(GOOD)
      .then(
        () => 'loaded',
        (error: unknown) => errorCode(error) ?? String(error),
      );
    count(end);
  };
}

function hasOwnProcesses(): boolean {
  const pid = host.health().cells.at(0)?.pid;
  return pid !== undefined && readlinkSync(`/proc/${pid}/ns/pid`) !== readlinkSync('/proc/self/ns/pid');
}

function endOf(fn: EdgeFunction, url: string): Promise<string> {
  return fn.fetch(url).then(
    response => `status ${response.status}`,
    (error: unknown) => errorCode(error) ?? String(error),
  );
}

/** The answer, or the code of the error in its place. */
const ask =
  (fn: EdgeFunction): Ask =>
  () =>
    fn.fetch('http://good/').then(
      async response => (await response.text()).slice(0, 100),
      (error: unknown) => errorCode(error) ?? String(error),
    );

async function play(seconds: number, begin: Begin | undefined): Promise<HoardReport> {
  const ends: Record<string, number> = {};
  const before = openDescriptors();
  let mostDescriptors = before;
  const counting = setInterval(() => {
    mostDescriptors = Math.max(mostDescriptors, openDescriptors());
  }, 100);
  const asked = new SteadyAsker(bystanders.map(ask), ASK_EVERY_MS / BYSTANDERS);
  const watched = new AbortController();
  const ended = begin === undefined ? undefined : untilCellEnded(watched.signal);
  const over = pause(seconds * 1000);
  void begin?.(end => {
    ends[end] = (ends[end] ?? 0) + 1;
  });
  await over;
  asked.stop();
  await Promise.race([asked.answered(), pause(ANSWERED_WITHIN_MS, undefined, { ref: false })]);
  clearInterval(counting);
  watched.abort();
  const cell = begin === undefined ? undefined : await ended;
  const isNative = NATIVE_HOARDS.some(known => known.name === name);
  const held = isNative && cell?.endedMs === null && cell.pid !== undefined ? holdingsOf(cell.pid) : null;
  const waiting = asked.waitingMs();
  const timesMs = [...asked.timesMs, ...waiting];
  return {
    lost: asked.reasons.length + waiting.length,
    reasons: [...new Set(asked.reasons)],
    p99Ms: percentile(timesMs, 0.99),
    maxMs: percentile(timesMs, 1),
    descriptors: mostDescriptors - before,
    ends,
    endedMs: cell?.endedMs ?? null,
    held,
    isRefused: held !== null && isHarmless(held, seconds * 1000),
  };
}

/** Milliseconds from when the hoarder had a cell (or from now, when it has) to when that was gone; null when it was not by then. */
async function untilCellEnded(
  signal: AbortSignal,
): Promise<{ readonly pid: number | undefined; readonly endedMs: number | null }> {
  let pid: number | undefined;
  let sinceMs = 0;
  while (!signal.aborted) {
    if (pid === undefined) {
      pid = host.health().cells.findLast(cell => cell.account === HOARDER)?.pid;
      sinceMs = performance.now();
    } else if (!existsSync(`/proc/${pid}`)) return { pid, endedMs: performance.now() - sinceMs };
    await pause(LOOK_EVERY_MS);
  }
  return { pid, endedMs: null };
}

function openDescriptors(): number {
  return readdirSync('/proc/self/fd').length;
}

answerMessages(
  {
    alone: seconds => play(Number(seconds), undefined),
    hoard: seconds => play(Number(seconds), hoard),
  },
  () => host.close({ drainMs: 0 }),
);
