/**
 * A host with 20 good accounts, which are asked in turn at a steady rate, and one that offends. Messages request slices with and without
 * the offender; it answers a {@link SliceReport} for each. Arguments: the folder of the storage, the URLs of the egress targets.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import process from 'node:process';
import { setTimeout as pause } from 'node:timers/promises';
import { type EdgeFunction, EdgeHost, type InvocationEvent } from '../../src/index.js';
import { errorCode } from '../../src/quotas/errors.js';
import type { Plan } from '../../src/quotas/limits.js';
import { hijackCells } from '../hijacked/hijack.js';
import { byteStream } from '../measuring/byte-stream.js';
import { cpuMsOf, mainThreadClock } from '../measuring/process-cpu.js';
import { type Ask, SteadyAsker } from '../measuring/steady-asker.js';
import { FLOODS, LARGE_BYTES, PROGRAMS, sourceOf } from '../neighbours/programs.js';
import type { SliceReport } from '../neighbours/slice.js';
import { answerMessages } from './answer-messages.js';

const GOOD_ACCOUNTS = 20;
const ASK_EVERY_MS = 5;
/** Good requests that have no answer by then are counted as lost. */
const ANSWERED_WITHIN_MS = 5000;

const OFFENDING_FUNCTIONS = 4;
const REQUESTS_EACH = 4;
/** A request of the offender that is over sooner is made again after this long. */
const AGAIN_AFTER_MS = 250;
/** When the requests of the offender have been canceled and are not over by then, its cell is ended. */
const CANCELED_WITHIN_MS = 2000;
/** The host is at rest when its main thread has done little for so long. */
const QUIET_MS = 200;
const QUIET_WITHIN_MS = 5000;
const QUIET_SHARE = 0.1;

const COMPUTES = `export default {
  fetch() {
    let sum = 0;
    for (let at = 0; at < 20_000; at++) sum = (sum * 31 + at) % 1000003;
    return new Response(sum < 0 ? 'wrong' : 'fine');
  },
};
`;
const STORES = `export default {
  async fetch(_request, env) {
    await env.FILES.put('key', 'x');
    const object = await env.FILES.get('key');
    return new Response((await object.text()) === 'x' ? 'fine' : 'wrong');
  },
};
`;

const [storage = '', sink = '', source = '', coded = ''] = process.argv.slice(2);
const host = new EdgeHost({ storage, warmCells: 0, egress: { allow: ['127.0.0.0/8'] } });
const good: { readonly computes: EdgeFunction[]; readonly stores: EdgeFunction[] } = { computes: [], stores: [] };
for (let at = 0; at < GOOD_ACCOUNTS; at++) {
  const account = host.account(`good-${at}`);
  if (at % 2 === 0) good.computes.push(await account.load(COMPUTES));
  else good.stores.push(await account.load(STORES, { buckets: { FILES: 'files' } }));
}

/** The account that offends, with its functions loaded. */
interface Offender {
  readonly account: string;
  readonly functions: readonly EdgeFunction[];
  readonly requestsEach: number;
  url(slot: number): string;
}

/** Begins with the offender: the good ones have their cells. */
let stopHijacking = (): void => {};

function loadOffender(name: string, plan: Plan): Promise<Offender> {
  stopHijacking();
  stopHijacking = (): void => {};
  if (!FLOODS.some(known => known.name === name)) return loadProgram(name, plan);
  stopHijacking = hijackCells();
  return loadFlood(name, plan);
}

/** One connection. The function's text does not matter: the cell runs another program. */
async function loadFlood(name: string, plan: Plan): Promise<Offender> {
  const account = host.account(`${name}-${plan}`, { plan, limits: { waitUntilMs: 0 } });
  const fn = await account.load(COMPUTES, { buckets: { FILES: 'files' } });
  return { account: account.id, functions: [fn], requestsEach: 1, url: () => `http://offender/?flood=${name}` };
}

async function loadProgram(name: string, plan: Plan): Promise<Offender> {
  const program = PROGRAMS.find(known => known.name === name);
  if (program === undefined) throw new Error(`There is no program "${name}"`);
  // What has been canceled is over at once, so that slices do not run into each other.
  const account = host.account(`${name}-${plan}`, { plan, limits: { waitUntilMs: 0 } });
  if (name === 'copy') await account.bucket('files').put('large', byteStream(LARGE_BYTES));
  const functions = await Promise.all(
    Array.from({ length: OFFENDING_FUNCTIONS }, (_, at) =>
      account.load(sourceOf(program), {
        name: `${name}-${at}`,
        buckets: { FILES: 'files' },
        vars: { SINK: sink, SOURCE: source, CODED: coded },
      }),
    ),
  );
  const url = (slot: number): string => `http://offender/?slot=${slot}`;
  return { account: account.id, functions, requestsEach: REQUESTS_EACH, url };
}

/** Starts what has been ended since, so that no start is in what is measured. */
async function startOffender({ functions }: Offender): Promise<void> {
  await Promise.all(functions.map(fn => fn.fetch('http://offender/').catch(() => {})));
}

/** The answer, or the code of the error in its place. */
function ask(fn: EdgeFunction): Ask {
  return () =>
    fn.fetch('http://good/').then(
      async response => (await response.text()).slice(0, 100),
      (error: unknown) => errorCode(error) ?? String(error),
    );
}

/** What a request ends with that was no invocation. */
const REFUSALS: ReadonlySet<string> = new Set(['EDGE_RATE_LIMITED', 'EDGE_DAILY_LIMIT', 'EDGE_OVERLOADED']);

/** Keeps the offender's requests going until it is ended. */
class Offence {
  /** How the offender's requests ended, by outcome or by the code of the refusal. */
  readonly outcomes: Record<string, number> = {};
  billedMs = 0;
  readonly #offender: Offender;
  readonly #end = new AbortController();
  readonly #requests: Promise<void>[];
  /** Invocations that were admitted and have had no event. */
  #open = 0;
  #onOver = (): void => {};
  readonly #onInvocation = ({ account, outcome, cpuMs }: InvocationEvent): void => {
    if (account !== this.#offender.account) return;
    this.billedMs += cpuMs;
    this.#count(outcome);
    if (--this.#open === 0) this.#onOver();
  };

  constructor(offender: Offender) {
    this.#offender = offender;
    host.on('invocation', this.#onInvocation);
    this.#requests = offender.functions.flatMap((fn, at) =>
      Array.from({ length: offender.requestsEach }, (_, request) =>
        this.#goOn(fn, at * offender.requestsEach + request),
      ),
    );
  }

  async end(): Promise<void> {
    this.#end.abort();
    await Promise.all(this.#requests);
    const over = new Promise<void>(resolve => {
      this.#onOver = resolve;
      if (this.#open === 0) resolve();
    });
    await Promise.race([over, pause(CANCELED_WITHIN_MS)]);
    if (this.#open > 0) {
      endCell(this.#offender.account);
      await Promise.race([over, pause(QUIET_WITHIN_MS)]);
    }
    host.off('invocation', this.#onInvocation);
  }

  async #goOn(fn: EdgeFunction, slot: number): Promise<void> {
    const { signal } = this.#end;
    while (!signal.aborted) {
      const again = pause(AGAIN_AFTER_MS);
      this.#open++;
      try {
        const response = await fn.fetch(this.#offender.url(slot), { signal });
        await response.arrayBuffer();
      } catch (error) {
        // What was admitted has an event of its own.
        const code = errorCode(error);
        if (code !== undefined && REFUSALS.has(code)) {
          this.#open--;
          this.#count(code);
        }
      }
      await Promise.race([again, aborted(signal)]);
    }
  }

  #count(outcome: string): void {
    this.outcomes[outcome] = (this.outcomes[outcome] ?? 0) + 1;
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

function cellOf(account: string): number | undefined {
  return host.health().cells.findLast(cell => cell.account === account)?.pid;
}

function endCell(account: string): void {
  const pid = cellOf(account);
  if (pid !== undefined) process.kill(pid, 'SIGKILL');
}

async function untilQuiet(): Promise<void> {
  for (const untilMs = performance.now() + QUIET_WITHIN_MS; performance.now() < untilMs; ) {
    const before = mainThreadClock(process.pid);
    await pause(QUIET_MS);
    if (mainThreadClock(process.pid).usedMs - before.usedMs < QUIET_MS * QUIET_SHARE) return;
  }
}

function cpuMsOfCell(pid: number | undefined): number {
  try {
    return pid === undefined ? 0 : cpuMsOf(pid);
  } catch {
    return 0; // It has ended.
  }
}

async function playSlice(seconds: number, offender: Offender | undefined): Promise<SliceReport> {
  if (offender !== undefined) await startOffender(offender);
  await untilQuiet();
  const stalls = monitorEventLoopDelay({ resolution: 1 });
  const cell = offender === undefined ? undefined : cellOf(offender.account);
  const cellBeforeMs = cpuMsOfCell(cell);
  const before = mainThreadClock(process.pid);
  const startedMs = performance.now();
  stalls.enable();
  const offence = offender === undefined ? undefined : new Offence(offender);
  const calls = new SteadyAsker(good.computes.map(ask), 2 * ASK_EVERY_MS);
  const puts = new SteadyAsker(good.stores.map(ask), 2 * ASK_EVERY_MS);
  await pause(seconds * 1000);
  for (const asker of [calls, puts]) asker.stop();
  // The offender goes on until all have their answers: its end would hasten them.
  const late = pause(ANSWERED_WITHIN_MS, undefined, { ref: false });
  await Promise.race([Promise.all([calls.answered(), puts.answered()]), late]);
  const tookMs = performance.now() - startedMs;
  stalls.disable();
  const after = mainThreadClock(process.pid);
  const isCellSame = offender === undefined || cellOf(offender.account) === cell;
  const cellMs = cpuMsOfCell(cell) - cellBeforeMs;
  const [waiting, waitingPuts] = [calls.waitingMs(), puts.waitingMs()];
  await offence?.end();
  return {
    callsMs: [...calls.timesMs, ...waiting],
    putsMs: [...puts.timesMs, ...waitingPuts],
    lost: calls.reasons.length + puts.reasons.length + waiting.length + waitingPuts.length,
    reasons: [...new Set([...calls.reasons, ...puts.reasons])],
    tookMs,
    mainMs: after.usedMs - before.usedMs,
    mainWaitedMs: after.waitedMs - before.waitedMs,
    stallMs: stalls.max / 1e6,
    cellMs: isCellSame ? cellMs : null,
    billedMs: offence?.billedMs ?? 0,
    outcomes: offence?.outcomes ?? {},
  };
}

let offender: Offender | undefined;

answerMessages(
  {
    /** An offender with this program on this plan, in place of the one before. */
    offender: async (name, plan) => {
      for (const fn of offender?.functions ?? []) fn.unload();
      offender = await loadOffender(String(name), plan === 'free' ? 'free' : 'standard');
    },
    alone: seconds => playSlice(Number(seconds), undefined),
    beside: seconds => playSlice(Number(seconds), offender),
  },
  () => host.close({ drainMs: 0 }),
);
