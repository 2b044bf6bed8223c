/** Counters that are stored, with a method for everything that a contract can say. */
import { directoryContract, engineContract } from '../../../src/bindings/contract.js';
import type { ServiceBody } from '../../../src/bindings/service.js';
import type { StoredContent } from '../../../src/bindings/stored-values/stored-content.js';
import type { CallWork } from '../../../src/quotas/host/call-work.js';

export interface CounterInfo {
  readonly step: number;
}

interface FoundTotal {
  readonly total: number;
  readonly content: StoredContent;
}

interface WriteOptions {
  readonly signal?: AbortSignal;
  readonly checksum?: () => Promise<number | undefined>;
}

export interface Counter {
  readonly name: string;
  readonly id: string;
  info(): CounterInfo;
  add(by: number, work?: CallWork): Promise<number>;
  /** Null before the first `add`. */
  read(work?: CallWork): Promise<FoundTotal | null>;
  readAll(totals: readonly number[]): Promise<(FoundTotal | null)[]>;
  /** Adds the bytes of the body; fails when their number is not the checksum. */
  write(body: ServiceBody | null, options: WriteOptions, work?: CallWork): Promise<number>;
  lines(): AsyncIterable<Uint8Array>;
  page(): Promise<{ readonly body: ServiceBody | null; readonly size: number }>;
  /** Takes the total, when there is one. */
  take(options: { readonly signal: AbortSignal }): Promise<number>;
  change(info: CounterInfo): Promise<CounterInfo>;
}

export interface Counters {
  open(name: string): Promise<Counter>;
  find(name: string): Promise<Counter | null>;
  delete(name: string): Promise<void>;
}

/** Keeps totals by account and name. @default they are in memory alone */
export interface Totals {
  get(key: string): Promise<unknown>;
  put(key: string, total: unknown): Promise<void>;
}

/** The methods that were called, in order. */
export interface Calls {
  readonly names: string[];
  onCall?: (name: string) => void;
}

/** An error of counters, which has a code of its own. */
export class CounterError extends Error {
  override readonly name = 'CounterError';
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

export const OVERFLOW = 99_001;

class StoredCounter implements Counter {
  readonly name: string;
  readonly id: string;
  readonly #calls: Calls;
  readonly #save: (total: number) => Promise<void>;
  #total: number;
  #info: CounterInfo = { step: 1 };
  #taker: ((total: number) => void) | undefined;

  constructor(name: string, id: string, calls: Calls, total: number, save: (total: number) => Promise<void>) {
    this.name = name;
    this.id = id;
    this.#calls = calls;
    this.#total = total;
    this.#save = save;
  }

  #note(name: string): void {
    this.#calls.names.push(name);
    this.#calls.onCall?.(name);
  }

  info(): CounterInfo {
    return this.#info;
  }

  async add(by: number, work?: CallWork): Promise<number> {
    this.#note('add');
    work?.charge(1);
    if (!Number.isSafeInteger(this.#total + by)) throw new CounterError(OVERFLOW, `${by} is too much`);
    this.#total += by * this.#info.step;
    const total = this.#total;
    const taker = this.#taker;
    this.#taker = undefined;
    if (taker !== undefined) {
      this.#total = 0;
      taker(total);
    }
    await this.#save(this.#total);
    return total;
  }

  async read(work?: CallWork): Promise<FoundTotal | null> {
    this.#note('read');
    work?.charge(1);
    return this.#total === 0 ? null : found(this.#total);
  }

  async readAll(totals: readonly number[]): Promise<(FoundTotal | null)[]> {
    return totals.map(total => (total === 0 ? null : found(total)));
  }

  async write(body: ServiceBody | null, { signal, checksum }: WriteOptions): Promise<number> {
    if (body === null) return -1;
    let bytes = 0;
    for await (const chunk of body instanceof Uint8Array ? [body] : body) {
      signal?.throwIfAborted();
      bytes += chunk.length;
    }
    const expected = await checksum?.();
    if (expected !== undefined && expected !== bytes) throw new RangeError(`${bytes} bytes are not ${expected}`);
    return this.add(bytes);
  }

  async *lines(): AsyncGenerator<Uint8Array> {
    for (let line = 1; line <= this.#total; line++) yield Buffer.from(`${line}\n`);
  }

  async page(): Promise<{ readonly body: ServiceBody | null; readonly size: number }> {
    const body = this.#total === 0 ? null : bytesOf(this.#total);
    return { body, size: body?.length ?? 0 };
  }

  take({ signal }: { readonly signal: AbortSignal }): Promise<number> {
    this.#note('take');
    return new Promise((resolve, reject) => {
      this.#taker = resolve;
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    });
  }

  async change(info: CounterInfo): Promise<CounterInfo> {
    this.#info = info;
    return info;
  }
}

function bytesOf(total: number): Uint8Array {
  return Buffer.from(String(total));
}

function found(total: number): FoundTotal {
  const bytes = bytesOf(total);
  return { total, content: { offset: 0, length: bytes.length, open: () => bytes, release: () => {} } };
}

export function createCounters(calls: Calls, totals?: Totals, account = ''): Counters {
  const counters = new Map<string, Promise<Counter>>();
  let lastId = 0;
  const load = async (name: string): Promise<Counter> => {
    const key = `${account}/${name}`;
    const total = await totals?.get(key);
    const save = async (next: number): Promise<void> => totals?.put(key, next);
    return new StoredCounter(name, `id-${++lastId}`, calls, typeof total === 'number' ? total : 0, save);
  };
  return {
    open(name) {
      const counter = counters.get(name) ?? load(name);
      counters.set(name, counter);
      return counter;
    },
    find: async name => (await counters.get(name)) ?? null,
    async delete(name) {
      if (!counters.delete(name)) throw new RangeError(`There is no counter "${name}"`);
    },
  };
}

const COUNTER = engineContract<Counter, 'name' | 'id' | 'info', CounterInfo>({
  methods: {
    add: { work: 1 },
    read: { isSafe: true, work: 0, answer: 'content' },
    readAll: { isSafe: true, answer: 'contents' },
    write: { body: 0, options: 1, atEnd: 'checksum', work: 2, cancelsBody: true },
    lines: { isSafe: true, answer: 'stream' },
    page: { isSafe: true, answer: 'body' },
    take: {
      options: 0,
      whenStopped: (counter, total) => counter.add(total),
    },
    change: { answer: 'state', send: ({ step }) => [{ step }] },
  },
  state: counter => counter.info(),
  identity: ({ id }) => id,
  local: opened => ({ name: opened.name, id: opened.id ?? '', info: () => opened.state }),
  missing: name => new RangeError(`There is no counter "${name}"`),
});

export const COUNTERS_CONTRACT = directoryContract<Counters>({
  methods: { open: { isSafe: true, opens: true }, find: { isSafe: true, opens: true }, delete: {} },
  engine: COUNTER,
});
