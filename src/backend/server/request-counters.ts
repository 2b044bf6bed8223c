/**
 * Counts of requests by account, this minute and this day: what each application has said that it has counted, and the sum. They are on disk less than a
 * second later, and an application that lives says the same again.
 */
import type { Sublevel } from '../../storage/records/sublevel.js';
import { callSoon } from '../../usage/call-soon.js';
import type { OwnCount, SharedCounts } from '../wire/shared-usage.js';

interface Count {
  /** The number of the minute or the day since 1970. */
  period: number;
  /** By applications that are not in `of`. */
  others: number;
  /** By application, in the order of their first request. */
  readonly of: Map<string, number>;
  isWritten: boolean;
}

type Period = 'minute' | 'day';

/** Where each is kept. Days are where a host without other applications keeps them. */
const PLACES: Readonly<Record<Period, string>> = { minute: 'requests-this-minute', day: 'requests-today' };
/** A clock that is corrected by more was wrong. */
const SET_BACK: Readonly<Record<Period, number>> = { minute: 10, day: 1 };
const WRITE_AFTER_MS = 500;
const MAX_IN_MEMORY = 20_000;
/** The most applications that are remembered for one day: more have come and gone. */
const MAX_APPLICATIONS = 100;

export class RequestCounters implements SharedCounts {
  readonly #store: Pick<Sublevel, 'get' | 'put'>;
  /** By where they are kept, in the order of their first use. */
  readonly #counts = new Map<string, Count>();
  readonly #timer = callSoon(() => this.write());
  #last: Promise<unknown> = Promise.resolve();
  #writing: Promise<void> = Promise.resolve();

  constructor(store: Pick<Sublevel, 'get' | 'put'>) {
    this.#store = store;
  }

  /** Counts that cannot be read restart. */
  set(application: string, counts: readonly OwnCount[]): Promise<number[]> {
    return this.#inTurn(async () => {
      const sums: number[] = [];
      for (const [key, own] of counts) {
        const count = await this.#of(key);
        count.of.set(application, own);
        if (count.of.size > MAX_APPLICATIONS) forgetOldest(count);
        count.isWritten = false;
        sums.push(sumOf(count));
      }
      this.#timer.schedule(WRITE_AFTER_MS);
      return sums;
    });
  }

  read(key: string): Promise<number> {
    return this.#inTurn(async () => sumOf(await this.#of(key)));
  }

  /** Never rejects: what could not be written is tried again. */
  write(): Promise<void> {
    this.#timer.cancel();
    this.#writing = this.#writing.then(() => this.#writeAll());
    return this.#writing;
  }

  /** A later report of an application must win. */
  #inTurn<Result>(task: () => Promise<Result>): Promise<Result> {
    const run = this.#last.then(task);
    this.#last = run.catch(() => {});
    return run;
  }

  async #of(key: string): Promise<Count> {
    const [, period = '', number = '', account = ''] = KEY.exec(key) ?? [];
    if (period !== 'minute' && period !== 'day') throw new TypeError(`There is no counter ${JSON.stringify(key)}`);
    const place = `${PLACES[period]}/${account}`;
    const count = this.#counts.get(place) ?? (await this.#read(place, period));
    const asked = Number(number);
    // A clock that is set back a little keeps the present count; one that is set back far was wrong before.
    const ahead = count.period - asked;
    if (ahead < 0 || ahead > SET_BACK[period]) {
      count.period = asked;
      count.others = 0;
      count.of.clear();
    }
    return count;
  }

  async #read(place: string, period: Period): Promise<Count> {
    const stored: unknown = await this.#store.get(place).catch(() => undefined);
    const count = parsed(stored, period);
    if (this.#counts.size >= MAX_IN_MEMORY) this.#leave();
    this.#counts.set(place, count);
    return count;
  }

  /** The oldest that are on disk. */
  #leave(): void {
    for (const [place, { isWritten }] of this.#counts) {
      if (isWritten) this.#counts.delete(place);
      if (this.#counts.size <= MAX_IN_MEMORY / 2) return;
    }
  }

  async #writeAll(): Promise<void> {
    const changed = [...this.#counts].filter(([, { isWritten }]) => !isWritten);
    await Promise.all(
      changed.map(async ([place, count]) => {
        count.isWritten = true;
        const number = place.startsWith(`${PLACES.day}/`) ? { day: count.period } : { minute: count.period };
        const of = Object.fromEntries(count.of);
        try {
          await this.#store.put(place, JSON.stringify({ ...number, requests: sumOf(count), of }));
        } catch {
          // The storage says itself that it fails.
          count.isWritten = false;
          this.#timer.schedule(WRITE_AFTER_MS);
        }
      }),
    );
  }
}

/** As quotas/requests/admission.ts names them. */
const KEY = /^(minute|day):(\d{1,12}):(.+)$/;

function sumOf({ others, of }: Count): number {
  let sum = others;
  for (const own of of.values()) sum += own;
  return sum;
}

function forgetOldest(count: Count): void {
  const [oldest] = count.of;
  if (oldest === undefined) return;
  count.of.delete(oldest[0]);
  count.others += oldest[1];
}

/** Damaged counts restart. */
function parsed(text: unknown, period: Period): Count {
  const count: Count = { period: 0, others: 0, of: new Map(), isWritten: true };
  try {
    const value: unknown = typeof text === 'string' ? JSON.parse(text) : undefined;
    if (typeof value !== 'object' || value === null) return count;
    const [number, requests, of]: unknown[] = [period, 'requests', 'of'].map(key => Reflect.get(value, key));
    if (typeof number !== 'number' || typeof requests !== 'number') return count;
    for (const [application, own] of Object.entries(of ?? {}))
      if (typeof own === 'number') count.of.set(application, own);
    count.period = number;
    count.others = Math.max(0, requests - sumOf(count));
    return count;
  } catch {
    return count;
  }
}
