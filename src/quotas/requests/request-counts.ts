/**
 * How many requests each account had this minute and this day (UTC), in the memory of this process. The day's count is kept in a store, written in the
 * background, so that a restart does not reset it; a crash loses the counts since the last write. Not the memory limiter of rate-limiter-flexible: that one
 * answers by promise, keeps a timer for each key, and has no clock to inject, and this is asked on every request.
 */
import { detached, guarded } from '../guarded.js';

/** Where the counts of the day are kept. */
export interface CountStore {
  get(key: string): Promise<string | undefined>;
  put(key: string, value: string): Promise<void>;
}

export interface RequestCountsOptions {
  readonly store?: CountStore | undefined;
  /** The most time between a request and the writing of its count. */
  readonly writeIntervalMs: number;
  readonly now: () => number;
  /** Called when the store fails. Counting continues, and the write is tried again. */
  readonly onStoreError?: ((error: unknown) => void) | undefined;
}

/** The counts of one account. `minute` and `day` are the numbers of the minute and day since 1970 that they are for. */
export interface AccountCounts {
  minute: number;
  minuteRequests: number;
  day: number;
  dayRequests: number;
}

export class RequestCounts {
  readonly #options: RequestCountsOptions;
  readonly #accounts = new Map<string, AccountCounts>();
  readonly #loaded = new Set<string>();
  readonly #unwritten = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> | undefined;
  #isClosed = false;

  constructor(options: RequestCountsOptions) {
    this.#options = options;
  }

  /**
   * The counts of an account, of this minute and day. When the clock is set back a little, counts of a later minute or day are kept, so that nothing is counted
   * twice. When it is set back far it was wrong before: those counts would hold for as long as it was ahead, so they restart.
   */
  of(account: string): AccountCounts {
    const now = this.#options.now();
    const minute = Math.floor(now / MINUTE_MS);
    const day = Math.floor(now / DAY_MS);
    let counts = this.#accounts.get(account);
    if (counts === undefined) {
      counts = { minute, minuteRequests: 0, day, dayRequests: 0 };
      this.#accounts.set(account, counts);
    }
    const wasWrong = minute < counts.minute - SET_BACK_MINUTES;
    if (minute > counts.minute || wasWrong) {
      counts.minute = minute;
      counts.minuteRequests = 0;
    }
    if (day > counts.day || (wasWrong && day < counts.day)) {
      counts.day = day;
      counts.dayRequests = 0;
    }
    return counts;
  }

  /** The counts of an account as of the last time that they were asked for by {@link of}. */
  last(account: string): Readonly<AccountCounts> | undefined {
    return this.#accounts.get(account);
  }

  /** The count of the day has changed: write it soon. */
  noteChange(account: string): void {
    if (this.#options.store === undefined || this.#isClosed) return;
    this.#unwritten.add(account);
    if (this.#timer !== undefined) return;
    this.#timer = setTimeout(
      guarded(() => {
        this.#timer = undefined;
        detached(this.write());
      }),
      this.#options.writeIntervalMs,
    );
    this.#timer.unref();
  }

  /** Adds what the store has of today to the count of an account, the first time. Never rejects. */
  async load(account: string): Promise<void> {
    const { store, onStoreError } = this.#options;
    if (store === undefined || this.#loaded.has(account)) return;
    this.#loaded.add(account);
    try {
      const stored = parseStored(await store.get(keyOf(account)));
      const counts = this.of(account);
      if (stored?.day === counts.day) counts.dayRequests += stored.requests;
    } catch (error) {
      onStoreError?.(error);
    }
  }

  /** Writes every count that has changed. */
  async write(): Promise<void> {
    // One write at a time: an older count must not be written over a newer one.
    while (this.#writing !== undefined) await this.#writing;
    const writing = this.#writeAll();
    this.#writing = writing;
    await writing;
    this.#writing = undefined;
  }

  /** Forgets an account that is gone. The stored count remains: it may come back within the day. */
  async forget(account: string): Promise<void> {
    if (this.#unwritten.has(account)) await this.write();
    this.#accounts.delete(account);
    this.#loaded.delete(account);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    await this.write();
  }

  /** Never rejects. */
  async #writeAll(): Promise<void> {
    const { store, onStoreError } = this.#options;
    for (const account of [...this.#unwritten]) {
      const counts = this.#accounts.get(account);
      this.#unwritten.delete(account);
      if (counts === undefined || store === undefined) continue;
      try {
        await store.put(keyOf(account), JSON.stringify({ day: counts.day, requests: counts.dayRequests }));
      } catch (error) {
        this.noteChange(account);
        onStoreError?.(error);
      }
    }
  }
}

export const MINUTE_MS = 60_000;
export const DAY_MS = 86_400_000;

/** A clock that is corrected by more was wrong. */
const SET_BACK_MINUTES = 10;

function keyOf(account: string): string {
  return `requests-today/${account}`;
}

/** The stored counts; undefined when they are damaged or of another version, so that the day is counted from now on. */
function parseStored(text: string | undefined): { day: number; requests: number } | undefined {
  if (text === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null || !('day' in value) || !('requests' in value)) return undefined;
    const { day, requests } = value;
    if (!Number.isSafeInteger(day) || !Number.isSafeInteger(requests)) return undefined;
    return Number(requests) >= 0 ? { day: Number(day), requests: Number(requests) } : undefined;
  } catch {
    return undefined;
  }
}
