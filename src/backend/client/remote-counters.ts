/**
 * Counts of requests in the backend process, which all applications of a storage share: one call for all requests of a turn. An application reports its own
 * count since the minute or the day began. So a call that fails, or a process that restarts, loses nothing and counts nothing twice.
 */
import { randomUUID } from 'node:crypto';
import { guarded } from '../../quotas/guarded.js';
import type { CountStore } from '../../quotas/requests/request-counts.js';
import type { SharedCounters } from '../../quotas/requests/shared-counters.js';
import { lostError } from '../wire/outgoing-call.js';
import { COUNTS_CONTRACT, type OwnCount, type SharedCounts } from '../wire/shared-usage.js';
import type { RemoteLink } from './remote-link.js';
import { remotePart } from './remote-part.js';

interface Own {
  count: number;
  readonly untilMs: number;
}

interface Asked {
  readonly own: OwnCount;
  readonly resolve: (count: number) => void;
  readonly reject: (error: unknown) => void;
}

/** Expired counters are removed when the table has this many. */
const MANY = 1000;
const DAY_MS = 86_400_000;

export class RemoteCounters implements SharedCounters {
  /** Both processes have one clock. */
  readonly aheadMs = 0;
  readonly #link: RemoteLink;
  readonly #counts: SharedCounts;
  readonly #application = randomUUID();
  readonly #own = new Map<string, Own>();
  #asked: Asked[] = [];

  constructor(link: RemoteLink) {
    this.#link = link;
    this.#counts = remotePart(link, 'counts', COUNTS_CONTRACT);
  }

  /** Rejects at once without a process: the next report includes the request. */
  increment(key: string, lifeSeconds: number): Promise<number> {
    const own = this.#of(key, lifeSeconds);
    own.count++;
    if (this.#link.openChannel !== undefined) return this.#ask([key, own.count]);
    // The next request may find it.
    this.#link.channel().catch(() => {});
    return Promise.reject(lostError());
  }

  async decrement(key: string, lifeSeconds: number): Promise<void> {
    const own = this.#of(key, lifeSeconds);
    own.count--;
    if (this.#link.openChannel !== undefined) await this.#ask([key, own.count]);
  }

  async ready(): Promise<void> {
    await this.#link.channel().catch(() => {}); // requests are counted here then
  }

  async close(): Promise<void> {}

  /** The counts of today, where a host without other applications reads them from its storage. */
  get store(): CountStore {
    return {
      get: async key => {
        const day = Math.floor(Date.now() / DAY_MS);
        const account = key.slice(key.indexOf('/') + 1);
        return JSON.stringify({ day, requests: await this.#counts.read(`day:${day}:${account}`) });
      },
      put: async () => {},
    };
  }

  #of(key: string, lifeSeconds: number): Own {
    let own = this.#own.get(key);
    if (own === undefined) {
      if (this.#own.size >= MANY) this.#forgetOld();
      own = { count: 0, untilMs: performance.now() + lifeSeconds * 1000 };
      this.#own.set(key, own);
    }
    return own;
  }

  #forgetOld(): void {
    const now = performance.now();
    for (const [key, { untilMs }] of this.#own) if (untilMs < now) this.#own.delete(key);
  }

  #ask(own: OwnCount): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#asked.push({ own, resolve, reject });
      if (this.#asked.length === 1) queueMicrotask(this.#send);
    });
  }

  readonly #send = guarded((): void => {
    const asked = this.#asked;
    this.#asked = [];
    const counts = asked.map(({ own }) => own);
    this.#counts.set(this.#application, counts).then(
      sums => {
        for (const [index, { resolve }] of asked.entries()) resolve(sums[index] ?? 0);
      },
      (error: unknown) => {
        for (const { reject } of asked) reject(error);
      },
    );
  });
}
