/** The caches of one account in a storage. */
import { randomInt } from 'node:crypto';
import type { EdgeError } from '../../../quotas/errors.js';
import { type CallWork, OWN_WORK } from '../../../quotas/host/call-work.js';
import { HOST_COSTS } from '../../../quotas/host/host-costs.js';
import { NO_BYTES } from '../../../storage/records/no-bytes.js';
import type { StorageContext } from '../../../storage/storage-context.js';
import { cancelBody } from '../../bodies/cancel-body.js';
import type { ServiceBody } from '../../service.js';
import { outcomeOf } from '../conditional.js';
import type {
  CacheEngine,
  CacheHit,
  CacheMiss,
  CachePurge,
  CachePutOptions,
  CacheQuery,
  CacheUsage,
  KeptResponse,
} from '../engine.js';
import { headerOf } from '../header-values.js';
import { cacheKeys } from './cache-keys.js';
import { CacheSpace } from './cache-space.js';
import { type EntryHead, entryHash, overheadOf } from './entry-codec.js';
import type { EntryStore } from './entry-store.js';
import { entryStore, forgetStore, PURGED } from './entry-stores.js';
import { answerOf, embeddedAnswer } from './kept-answer.js';
import { purgeEntries } from './purge-entries.js';
import { checkSize, receiveEntryBody } from './receive-body.js';
import { clearRemovedCaches } from './remove-caches.js';

interface OpenCaches {
  readonly context: StorageContext;
  readonly entries: EntryStore;
  readonly space: CacheSpace;
}

export class AccountCaches implements CacheEngine {
  readonly #account: string;
  readonly #storage: () => Promise<StorageContext>;
  readonly #work: CallWork = { ...OWN_WORK, owner: {} };
  #open: OpenCaches | undefined;
  #opening: Promise<OpenCaches | undefined> | undefined;
  /** Counts the purges. It starts at random, so that a response fetched before a restart never matches. */
  #epoch = randomInt(2 ** 47);
  #ended: EdgeError | undefined;

  /** @param storage resolves when no earlier account of this id is being removed any more */
  constructor(account: string, storage: () => Promise<StorageContext>) {
    this.#account = account;
    this.#storage = storage;
  }

  match(query: CacheQuery, work = this.#work): CacheHit | Promise<CacheHit | CacheMiss> {
    return this.#matchAtHand(query, work) ?? this.#match(query, work);
  }

  /** An answer that is all in memory. */
  #matchAtHand(query: CacheQuery, work: CallWork): CacheHit | undefined {
    const open = this.#open;
    if (open === undefined || this.#ended !== undefined) return undefined;
    const { context, entries } = open;
    const first = entryHash(query.cache, query.url);
    const found = entries.atHand(first);
    const names = found?.head.vary;
    if (names !== undefined && query.varies !== true) return undefined;
    const hash = names === undefined ? first : variantHash(query, names);
    const entry = names === undefined ? found : entries.atHand(hash);
    const nowMs = context.now();
    if (entry === undefined || !isUsable(query, entry.head, nowMs)) return undefined;
    if (outcomeOf(query.headers, entry.head).kind !== 'whole') return undefined;
    const hit = embeddedAnswer(entry, nowMs, query.sharesBody === true);
    if (hit === undefined) return undefined;
    if (names !== undefined) entries.noteUse(first, work);
    entries.noteUse(hash, work);
    hit.epoch = this.#epoch;
    return hit;
  }

  async #match(query: CacheQuery, work: CallWork): Promise<CacheHit | CacheMiss> {
    const open = this.#open ?? (await this.#find());
    if (this.#ended !== undefined) throw this.#ended;
    const epoch = this.#epoch;
    if (open === undefined) return { kind: 'miss', epoch };
    const { context, entries } = open;
    for (;;) {
      let hash = entryHash(query.cache, query.url);
      let entry = await entries.find(hash, work);
      const names = entry?.head.vary;
      if (names !== undefined) {
        entries.noteUse(hash, work);
        hash = variantHash(query, names);
        entry = query.varies === true ? await entries.find(hash, work) : undefined;
      }
      const nowMs = context.now();
      if (entry === undefined || !isUsable(query, entry.head, nowMs)) return { kind: 'miss', epoch };
      const outcome = outcomeOf(query.headers, entry.head);
      const hit = await answerOf(context, entries.keyOf(hash), entry, outcome, nowMs, work);
      // undefined: it was replaced in between, so it is read again.
      if (hit === undefined) continue;
      entries.noteUse(hash, work);
      hit.epoch = epoch;
      return hit;
    }
  }

  async put(
    response: KeptResponse,
    body: ServiceBody | null,
    options: CachePutOptions,
    work = this.#work,
  ): Promise<boolean> {
    work.charge(HOST_COSTS.keptResponseMs);
    try {
      const open = this.#open ?? (await this.#create(work));
      this.#check();
      return await this.#put(open, response, body, options, work);
    } catch (error) {
      cancelBody(body);
      if (error === PURGED && this.#ended === undefined) return false;
      throw error;
    }
  }

  async delete(cache: string, url: string, work = this.#work): Promise<boolean> {
    const open = this.#open ?? (await this.#find());
    this.#check();
    if (open === undefined) return false;
    const gone = await unlessPurged(
      open.entries.remove([entryHash(cache, url)], () => true, work),
      [],
    );
    return gone.some(({ freshUntil }) => freshUntil > open.context.now());
  }

  async purge(purge: CachePurge): Promise<{ readonly purged: number }> {
    const open = this.#open ?? (await this.#find());
    this.#check();
    this.#epoch++;
    if (open === undefined) return { purged: 0 };
    if (purge.everything === true) return await this.#purgeAll(open);
    return { purged: await unlessPurged(purgeEntries(open.context, open.entries, purge, this.#work), 0) };
  }

  async usage(): Promise<CacheUsage> {
    const open = this.#open ?? (await this.#find());
    this.#check();
    if (open === undefined) return { bytes: 0, entries: 0 };
    await unlessPurged(Promise.resolve(open.entries.sums.store.ready()), undefined);
    const { bytes, objects } = open.entries.sums.store.stored;
    return { bytes, entries: objects };
  }

  /** The account is gone: one of the same id has caches of its own. */
  end(error: EdgeError): void {
    this.#ended = error;
    if (this.#open !== undefined) forgetStore(this.#open.context, this.#open.entries.id);
  }

  /** Writes changes that are only in memory, before the storage closes. */
  async close(): Promise<void> {
    await this.#open?.entries.saveUses(Number.POSITIVE_INFINITY, this.#work);
  }

  async #put(
    { context, entries, space }: OpenCaches,
    response: KeptResponse,
    body: ServiceBody | null,
    options: CachePutOptions,
    work: CallWork,
  ): Promise<boolean> {
    const { cache, url, status, statusText, headers, tags, ageSeconds, freshMs, staleMs, vary } = response;
    await entries.sums.store.ready();
    const reservation = space.reserve(options.cacheBytes, work);
    let heldBytes = 0;
    try {
      const overhead = overheadOf(response);
      const { expectedBytes = 0 } = options;
      checkSize(expectedBytes, options);
      if (overhead + expectedBytes > options.cacheBytes) {
        cancelBody(body);
        return false;
      }
      // With the marker of what it varies by.
      if (!(await reservation.add(vary === undefined ? overhead : 2 * overhead))) {
        cancelBody(body);
        return false;
      }
      const received = await receiveEntryBody(body, {
        blobs: context.blobs,
        options,
        reserve: bytes => reservation.add(bytes),
        work,
      });
      if (received === undefined) return false;
      const { content } = received;
      if (content.kind === 'small') heldBytes = received.size;
      // Until it is written.
      work.countBytes(heldBytes);
      const nowMs = context.now();
      const times = { storedAt: nowMs, ageSeconds, freshUntil: nowMs + freshMs, staleUntil: nowMs + freshMs + staleMs };
      const isWanted = (): boolean => options.epoch === undefined || options.epoch === this.#epoch;
      const entry = { cache, url, status, statusText, headers, size: received.size, ...times, tags };
      const variant = vary === undefined ? undefined : variantOf(vary);
      const hash = entryHash(cache, url, variant);
      const isKept = await entries.write(hash, { ...entry, bytes: overhead + received.size }, content, isWanted, work);
      if (!isKept || vary === undefined) return isKept;
      const names = vary.map(([name]) => name);
      const marked = (await entries.find(entryHash(cache, url), work))?.head;
      // One that lasts longer finds this response too.
      if (marked?.vary?.join() === names.join() && marked.staleUntil >= times.staleUntil) return true;
      const marker = { ...entry, status: 0, headers: [], size: 0, tags: [], vary: names };
      return await entries.write(
        entryHash(cache, url),
        { ...marker, bytes: overheadOf(marker) },
        { kind: 'small', bytes: NO_BYTES },
        isWanted,
        work,
      );
    } finally {
      work.countBytes(-heldBytes);
      reservation.release();
    }
  }

  /** A new store takes the place of the one that is there, whose entries go in the background. */
  async #purgeAll({ context, entries }: OpenCaches): Promise<{ readonly purged: number }> {
    await entries.sums.store.ready();
    const { objects: purged } = entries.sums.store.stored;
    const key = cacheKeys.store(this.#account);
    await context.mutex.run(key, async () => {
      if (this.#open?.entries !== entries) return;
      await entries.sums.store.end(PURGED);
      await context.records.commit(
        [
          { type: 'put', key: cacheKeys.removed(entries.id), value: NO_BYTES },
          { type: 'del', key },
          { type: 'del', key: cacheKeys.sum(entries.id) },
        ],
        this.#work,
      );
      forgetStore(context, entries.id);
      this.#open = undefined;
    });
    await clearRemovedCaches(context, () => this.#check());
    return { purged };
  }

  /** Undefined: the account has kept nothing yet. */
  #find(): Promise<OpenCaches | undefined> {
    this.#opening ??= this.#read().finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  async #read(): Promise<OpenCaches | undefined> {
    const context = await this.#storage();
    this.#check();
    if (this.#open !== undefined) return this.#open;
    const record = await context.records.get(cacheKeys.store(this.#account), this.#work);
    if (record === undefined) return undefined;
    this.#open = openCaches(context, this.#account, record.toString());
    await this.#open.entries.sums.store.ready();
    return this.#open;
  }

  async #create(work: CallWork): Promise<OpenCaches> {
    const context = await this.#storage();
    const key = cacheKeys.store(this.#account);
    return await context.mutex.run(key, async () => {
      const found = await this.#find();
      if (found !== undefined) return found;
      this.#check();
      const id = context.newId();
      const sum = context.sums.of(this.#account);
      await sum.ready();
      const operations = [{ type: 'put', key, value: Buffer.from(id) }] as const;
      await context.records.reserveSpace(operations);
      // An account that is being removed waits for this, or refuses it.
      const change = sum.change({ bytes: 0, objects: 0 });
      try {
        await context.records.commit(operations, work);
      } catch (error) {
        change.failed(true);
        throw error;
      }
      change.done();
      this.#open = openCaches(context, this.#account, id);
      await this.#open.entries.sums.store.ready();
      return this.#open;
    });
  }

  #check(): void {
    if (this.#ended !== undefined) throw this.#ended;
  }
}

function openCaches(context: StorageContext, account: string, id: string): OpenCaches {
  const entries = entryStore(context, account, id);
  return { context, entries, space: new CacheSpace(entries) };
}

/** The rest of the work is needless when everything was purged meanwhile. */
async function unlessPurged<Result>(work: Promise<Result>, otherwise: Result): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    if (error === PURGED) return otherwise;
    throw error;
  }
}

function isUsable({ takesStale }: CacheQuery, { freshUntil, staleUntil }: EntryHead, nowMs: number): boolean {
  return nowMs < (takesStale === true ? staleUntil : freshUntil);
}

/** @param names of the headers that the responses of the URL vary by */
function variantHash({ cache, url, headers }: CacheQuery, names: readonly string[]): string {
  return entryHash(cache, url, variantOf(names.map(name => [name, headerOf(headers, name) ?? ''] as const)));
}

/** The text that tells the responses of a URL from each other. */
function variantOf(vary: readonly (readonly [name: string, value: string])[]): string {
  return vary.map(([name, value]) => `${name}:${value.trim()}`).join('\n');
}
