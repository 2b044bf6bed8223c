import { compareKeys } from '../storage/level-database.js';
import type { ListPosition } from './list-cursor.js';

/** A listing by delimiter, as far as its entries depend on it. */
export interface Listing {
  /** In NFC, as is the delimiter, which is not empty. */
  readonly prefix: string;
  readonly delimiter: string;
  /** The first key it may hold; it begins with the prefix. */
  readonly start: string;
  readonly limit: number;
}

/** In the order of their keys' UTF-8 bytes. */
export interface ListingEntries {
  readonly entries: readonly ListPosition[];
  readonly isTruncated: boolean;
}

/** So many listings of one bucket are known, and so many characters of their keys: 2 MiB at the most. */
const MAX_LISTINGS = 16;
const MAX_CHARACTERS = 256 * 1024;
/** With more entries in doubt, reading anew costs little more than looking each of them up. */
const MAX_DOUBTS = 64;

/**
 * The groups of a bucket's listings by delimiter, found once by a seek for each. This process alone has the storage open,
 * so every commit by which a key comes or goes passes `changing`: it puts the one entry that the key belongs to in doubt,
 * and the next listing looks that one up. A new key in a group that is known changes nothing.
 */
export class ListingCache {
  readonly #kept = new Map<string, KnownListing>();
  /** Being read for the first time. */
  readonly #readings = new Set<KnownListing>();
  #characters = 0;

  find(listing: Listing): KnownListing | undefined {
    const name = nameOf(listing);
    const known = this.#kept.get(name);
    if (known === undefined) return undefined;
    if (known.isLost) {
      this.#drop(name);
      return undefined;
    }
    // Used last, dropped last.
    this.#kept.delete(name);
    this.#kept.set(name, known);
    return known;
  }

  /** Before the snapshot is taken: what changes from now on is in doubt. To be ended by `keep` or `giveUp`. */
  startReading(listing: Listing): KnownListing {
    const reading = new KnownListing(listing);
    this.#readings.add(reading);
    return reading;
  }

  giveUp(reading: KnownListing): void {
    this.#readings.delete(reading);
  }

  /** Keeps what was read, unless too much changed since. */
  keep(reading: KnownListing, read: ListingEntries): void {
    if (!this.#readings.delete(reading) || reading.isLost) return;
    reading.replace(read);
    // Without groups nothing was skipped, so nothing is won.
    if (!reading.hasGroups || reading.characters > MAX_CHARACTERS) return;
    const name = nameOf(reading.listing);
    this.#drop(name);
    this.#kept.set(name, reading);
    this.#characters += reading.characters;
    this.#makeRoom();
  }

  /**
   * What was in doubt was looked up: `read` is what `from`, the entries, became by that, `doubts` are from before it. Does
   * nothing when another listing was faster: what it looked up is not in `read`.
   */
  update(
    known: KnownListing,
    from: readonly ListPosition[],
    read: ListingEntries,
    doubts: ReadonlyMap<string, number>,
  ): void {
    if (known.entries !== from || this.#kept.get(nameOf(known.listing)) !== known) return;
    const before = known.characters;
    known.replace(read);
    known.believe(doubts);
    this.#characters += known.characters - before;
    this.#makeRoom();
  }

  forget(known: KnownListing): void {
    const name = nameOf(known.listing);
    if (this.#kept.get(name) === known) this.#drop(name);
  }

  /** Before a commit by which keys come or go; call what it returns when the commit succeeded or failed. */
  changing(keys: readonly string[], kind: 'added' | 'removed'): () => void {
    this.#doubt(keys, kind);
    // Again: who looked meanwhile may have seen what was before.
    return () => this.#doubt(keys, kind);
  }

  clear(): void {
    this.#readings.clear();
    this.#kept.clear();
    this.#characters = 0;
  }

  #doubt(keys: readonly string[], kind: 'added' | 'removed'): void {
    for (const known of this.#kept.values()) known.doubt(keys, kind);
    for (const reading of this.#readings) reading.doubt(keys, kind);
  }

  #makeRoom(): void {
    for (const name of this.#kept.keys()) {
      if (this.#kept.size <= MAX_LISTINGS && this.#characters <= MAX_CHARACTERS * 4) break;
      this.#drop(name);
    }
  }

  #drop(name: string): void {
    const known = this.#kept.get(name);
    if (known === undefined) return;
    this.#kept.delete(name);
    this.#characters -= known.characters;
  }
}

/** The entries of a listing, and which of them are in doubt. */
export class KnownListing {
  readonly listing: Listing;
  #read: ListingEntries | undefined;
  #groups: ReadonlySet<string> = new Set();
  /** Keys of entries, with the number of the change that was the last to touch them. */
  readonly #doubts = new Map<string, number>();
  #changes = 0;
  #characters = 0;

  constructor(listing: Listing) {
    this.listing = listing;
  }

  /** Too much is in doubt. */
  get isLost(): boolean {
    return this.#doubts.size > MAX_DOUBTS;
  }

  get hasGroups(): boolean {
    return this.#groups.size > 0;
  }

  get characters(): number {
    return this.#characters;
  }

  /** Another array after each change. */
  get entries(): readonly ListPosition[] {
    return this.#read?.entries ?? [];
  }

  get isTruncated(): boolean {
    return this.#read?.isTruncated ?? false;
  }

  /** What has to be looked up before the entries can be believed; a copy. */
  get doubts(): ReadonlyMap<string, number> {
    return new Map(this.#doubts);
  }

  doubt(keys: readonly string[], kind: 'added' | 'removed'): void {
    this.#changes++;
    for (const key of keys) {
      if (this.isLost) return;
      if (!key.startsWith(this.listing.prefix)) continue;
      const entry = entryOf(key, this.listing);
      const isInDoubt = this.#doubts.has(entry.key);
      if (!isInDoubt && ((kind === 'added' && this.#groups.has(entry.key)) || this.#isOutside(key))) continue;
      this.#doubts.set(entry.key, this.#changes);
    }
  }

  replace(read: ListingEntries): void {
    this.#read = read;
    this.#groups = new Set(read.entries.filter(({ kind }) => kind === 'group').map(({ key }) => key));
    this.#characters = 0;
    for (const { key } of read.entries) this.#characters += key.length;
  }

  /** These doubts are settled, but for those that came again since. */
  believe(doubts: ReadonlyMap<string, number>): void {
    for (const [key, change] of doubts) {
      if (this.#doubts.get(key) === change) this.#doubts.delete(key);
    }
  }

  /** Before the first key that the listing may hold, or behind its last entry when it ends before the last key. */
  #isOutside(key: string): boolean {
    if (compareKeys(key, this.listing.start) < 0) return true;
    const last = this.#read?.isTruncated === true ? this.#read.entries.at(-1) : undefined;
    return last !== undefined && compareKeys(entryOf(key, this.listing).key, last.key) > 0;
  }
}

/** The entry of the listing that the key belongs to: its group, or itself. */
export function entryOf(key: string, { prefix, delimiter }: Listing): ListPosition {
  const at = key.indexOf(delimiter, prefix.length);
  return at === -1 ? { kind: 'object', key } : { kind: 'group', key: key.slice(0, at + delimiter.length) };
}

function nameOf({ prefix, delimiter, start, limit }: Listing): string {
  return JSON.stringify([prefix, delimiter, start, limit]);
}
