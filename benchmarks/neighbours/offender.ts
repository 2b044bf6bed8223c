/** The account that offends, in the process of the host: its functions, or its cell, and its requests. */
import process from 'node:process';
import { setTimeout as pause } from 'node:timers/promises';
import type { EdgeFunction, EdgeHost, InvocationEvent } from '../../src/index.js';
import { errorCode } from '../../src/quotas/errors.js';
import type { Plan } from '../../src/quotas/limits.js';
import { hijackCells } from '../hijacked/hijack.js';
import { byteStream } from '../measuring/byte-stream.js';
import { mainThreadClock } from '../measuring/process-cpu.js';
import { FLOODS, LARGE_BYTES, PROGRAMS, sourceOf } from './programs.js';

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

/** The function of an account whose cell floods, where the cell runs another program; and the one that the offending ones call. */
const TEXT = `export default { fetch() { return new Response('fine'); } };`;

/** The servers that programs send to and fetch from, by the names of programs.ts. */
export interface EgressTargets {
  readonly SINK: string;
  readonly SOURCE: string;
  readonly CODED: string;
}

/** The account that offends, with its functions loaded. */
export interface Offender {
  readonly account: string;
  readonly functions: readonly EdgeFunction[];
  readonly requestsEach: number;
  url(slot: number): string;
}

/** Begins with the offender: others have their cells. */
let stopHijacking = (): void => {};

/** An account with this program on this plan, or with a cell that floods. */
export function loadOffender(host: EdgeHost, name: string, plan: Plan, targets: EgressTargets): Promise<Offender> {
  stopHijacking();
  stopHijacking = (): void => {};
  if (!FLOODS.some(known => known.name === name)) return loadProgram(host, name, plan, targets);
  stopHijacking = hijackCells();
  return loadFlood(host, name, plan);
}

/** One connection. */
async function loadFlood(host: EdgeHost, name: string, plan: Plan): Promise<Offender> {
  const account = host.account(`${name}-${plan}`, { plan, limits: { waitUntilMs: 0 } });
  const fn = await account.load(TEXT, { buckets: { FILES: 'files' } });
  return { account: account.id, functions: [fn], requestsEach: 1, url: () => `http://offender/?flood=${name}` };
}

async function loadProgram(host: EdgeHost, name: string, plan: Plan, targets: EgressTargets): Promise<Offender> {
  const program = PROGRAMS.find(known => known.name === name);
  if (program === undefined) throw new Error(`There is no program "${name}"`);
  // What has been canceled is over at once, so that slices do not run into each other.
  const account = host.account(`${name}-${plan}`, { plan, limits: { waitUntilMs: 0 } });
  if (name === 'copy') await account.bucket('files').put('large', byteStream(LARGE_BYTES));
  await account.load(TEXT, { name: 'callee' });
  const functions = await Promise.all(
    Array.from({ length: OFFENDING_FUNCTIONS }, (_, at) =>
      account.load(sourceOf(program), {
        name: `${name}-${at}`,
        buckets: { FILES: 'files' },
        kv: { KV: 'values' },
        queues: { QUEUE: 'jobs' },
        sql: { SQL: 'main' },
        services: { CALLEE: 'callee' },
        vars: { ...targets },
      }),
    ),
  );
  const url = (slot: number): string => `http://offender/?slot=${slot}`;
  return { account: account.id, functions, requestsEach: REQUESTS_EACH, url };
}

/** Starts what has been ended since, so that no start is in what is measured. */
export async function startOffender({ functions }: Offender): Promise<void> {
  await Promise.all(functions.map(fn => fn.fetch('http://offender/').catch(() => {})));
}

/** What a request ends with that was no invocation. */
const REFUSALS: ReadonlySet<string> = new Set(['EDGE_RATE_LIMITED', 'EDGE_DAILY_LIMIT', 'EDGE_OVERLOADED']);

/** Keeps the offender's requests going until it is ended. */
export class Offence {
  /** How the offender's requests ended, by outcome or by the code of the refusal. */
  readonly outcomes: Record<string, number> = {};
  billedMs = 0;
  readonly #host: EdgeHost;
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

  constructor(host: EdgeHost, offender: Offender) {
    this.#host = host;
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
      endCell(this.#host, this.#offender.account);
      await Promise.race([over, pause(QUIET_WITHIN_MS)]);
    }
    this.#host.off('invocation', this.#onInvocation);
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

export function cellOf(host: EdgeHost, account: string): number | undefined {
  return host.health().cells.findLast(cell => cell.account === account)?.pid;
}

function endCell(host: EdgeHost, account: string): void {
  const pid = cellOf(host, account);
  if (pid !== undefined) process.kill(pid, 'SIGKILL');
}

/** Resolves when the main thread of this process does next to nothing, or when that takes too long. */
export async function untilQuiet(): Promise<void> {
  for (const untilMs = performance.now() + QUIET_WITHIN_MS; performance.now() < untilMs; ) {
    const before = mainThreadClock(process.pid);
    await pause(QUIET_MS);
    if (mainThreadClock(process.pid).usedMs - before.usedMs < QUIET_MS * QUIET_SHARE) return;
  }
}
