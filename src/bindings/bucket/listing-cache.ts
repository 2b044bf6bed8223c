import type { ListPosition } from './list-cursor.js';

/** A listing by delimiter, as far as its entries depend on it. */
export interface Listing {
  /** In NFC, as is the delimiter, which is not empty. */
  readonly prefix: string;
  readonly delimiter: string;
  /** The record key it starts at. */
  readonly start: string;
  readonly limit: number;
}

export interface ListingEntries {
  readonly entries: readonly ListPosition[];
  readonly isTruncated: boolean;
}

interface Kept extends ListingEntries {
  readonly listing: Listing;
  readonly groups: ReadonlySet<string>;
}

/** What a reader holds to keep what it read; undefined when a change was under way as it began. */
export type ReadingTicket = number | undefined;

/** So many listings of one bucket are known, and so many characters of their keys: 2 MiB at the most. */
const MAX_LISTINGS = 16;
const MAX_CHARACTERS = 256 * 1024;

/**
 * The groups of a bucket's listings by delimiter, found once by a seek for each. They stay right until a key comes or
 * goes: this process alone has the storage open, so every change passes `changing`. A new key in a group that is known
 * changes nothing.
 */
export class ListingCache {
  readonly #kept = new Map<string, Kept>();
  #characters = 0;
  #underWay = 0;
  #changes = 0;

  find(listing: Listing): ListingEntries | undefined {
    const name = nameOf(listing);
    const kept = this.#kept.get(name);
    if (kept === undefined) return undefined;
    // Used last, dropped last.
    this.#kept.delete(name);
    this.#kept.set(name, kept);
    return kept;
  }

  /** Before the snapshot is taken. */
  startReading(): ReadingTicket {
    return this.#underWay === 0 ? this.#changes : undefined;
  }

  /** Keeps what was read, unless a key came or went since. */
  keep(ticket: ReadingTicket, listing: Listing, { entries, isTruncated }: ListingEntries): void {
    if (ticket !== this.#changes) return;
    const groups = new Set(entries.filter(({ kind }) => kind === 'group').map(({ key }) => key));
    const characters = charactersOf(entries);
    // Without groups nothing was skipped, so nothing is won.
    if (groups.size === 0 || characters > MAX_CHARACTERS) return;
    this.#drop(nameOf(listing));
    this.#kept.set(nameOf(listing), { listing, entries, isTruncated, groups });
    this.#characters += characters;
    for (const name of this.#kept.keys()) {
      if (this.#kept.size <= MAX_LISTINGS && this.#characters <= MAX_CHARACTERS * 4) break;
      this.#drop(name);
    }
  }

  /** Before a commit by which keys come or go; call what it returns when the commit succeeded or failed. */
  changing(keys: readonly string[], kind: 'added' | 'removed'): () => void {
    this.#underWay++;
    this.#changes++;
    return () => {
      this.#underWay--;
      this.#changes++;
      for (const [name, kept] of this.#kept) {
        if (keys.some(key => isChangedBy(kept, key, kind))) this.#drop(name);
      }
    };
  }

  clear(): void {
    this.#changes++;
    this.#kept.clear();
    this.#characters = 0;
  }

  #drop(name: string): void {
    const kept = this.#kept.get(name);
    if (kept === undefined) return;
    this.#kept.delete(name);
    this.#characters -= charactersOf(kept.entries);
  }
}

function isChangedBy({ listing, groups }: Kept, key: string, kind: 'added' | 'removed'): boolean {
  if (!key.startsWith(listing.prefix)) return false;
  // The last key of a group takes the group along.
  if (kind === 'removed') return true;
  const at = key.indexOf(listing.delimiter, listing.prefix.length);
  return at === -1 || !groups.has(key.slice(0, at + listing.delimiter.length));
}

function nameOf({ prefix, delimiter, start, limit }: Listing): string {
  return JSON.stringify([prefix, delimiter, start, limit]);
}

function charactersOf(entries: readonly ListPosition[]): number {
  let characters = 0;
  for (const { key } of entries) characters += key.length;
  return characters;
}
