/**
 * Keeps what invocations use, in memory and on disk. Rows that have changed are written in one batch, at most a second after the first change: a kill loses no
 * more than that. A row is written as its whole sum, and the stored sum is read once, when the row comes into memory; so a batch that is written twice, or may
 * have been written, counts once.
 */
import { callSoon } from './call-soon.js';
import type { OpenRows } from './function-usage.js';
import type { StoredMeter } from './stored-bytes.js';
import { dayOf } from './usage-day.js';
import { UsageRow } from './usage-row.js';
import { newSlots, type UsageSlots } from './usage-slots.js';
import type { UsageStore } from './usage-store.js';
import { type RowPort, writeRows } from './write-rows.js';

/** Writes what rows have added. Rejects when it is not known to be on disk; rows are then given again, with what they have added since. */
export interface RowWriter {
  writeRows(rows: readonly UsageRow[], port: RowPort): Promise<void>;
}

export interface UsageRecorderOptions {
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Opens the storage with the first write. */
  readonly store: () => Promise<UsageStore>;
  readonly stored: StoredMeter;
  /** Writes the rows. @default each is written to the store as its whole sum */
  readonly writer?: RowWriter;
  /** Called when writing begins to fail. It is tried again. */
  readonly onError: (error: unknown) => void;
}

/** Less than a second, so that usage is on disk when it is a second old: the write itself takes time as well. */
const WRITE_AFTER_MS = 800;
const MAX_RETRY_MS = 60_000;

export class UsageRecorder implements OpenRows {
  readonly now: () => number;
  /** The usage of the invocations of all accounts since the start. */
  readonly #sum = newSlots();
  readonly #accountSums = new Map<string, UsageSlots>();
  readonly #options: UsageRecorderOptions;
  readonly #rows = new Map<string, UsageRow>();
  #changed: UsageRow[] = [];
  /** Rows that are being written, in part. */
  #inWriting: readonly UsageRow[] = [];
  /** Rows that the last write has written: they leave memory unless they have changed by the next. */
  #written = new Set<UsageRow>();
  readonly #timer = callSoon(() => this.#writeInBackground());
  #writing: Promise<void> | undefined;
  #failures = 0;
  #isClosed = false;

  constructor(options: UsageRecorderOptions) {
    this.#options = options;
    this.now = options.now;
  }

  /** Rows in memory: the rows of functions that were active in the last two seconds, and rows that could not be written. */
  get rows(): number {
    return this.#rows.size;
  }

  /** Writes that have failed one after the other; 0 when the last one has not. */
  get failures(): number {
    return this.#failures;
  }

  open(account: string, name: string, now: number): UsageRow {
    return this.#openDay(account, name, dayOf(now));
  }

  noteChange(row: UsageRow): void {
    row.isChanged = true;
    this.#changed.push(row);
    this.#schedule();
  }

  /** The stored bytes of the account may have changed. */
  noteStored(account: string): void {
    this.#options.stored.noteChange(account);
    this.#schedule();
  }

  /** The usage of invocations since the start, of all accounts or of one. */
  sums(account?: string): UsageSlots {
    this.#settleAll();
    return account === undefined ? this.#sum : (this.#accountSums.get(account) ?? newSlots());
  }

  /** Forgets the sums of an account that is gone. Written usage stays. */
  forget(account: string): void {
    this.#settleAll();
    this.#accountSums.delete(account);
  }

  /** Resolves when everything that was added before is on disk. Rejects like the storage; unwritten usage stays in memory. */
  async write(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing.catch(() => {});
    if (this.#changed.length === 0 && !this.#options.stored.hasChanged) return;
    const writing = this.#writeAll();
    this.#writing = writing;
    try {
      await writing;
      this.#failures = 0;
    } catch (error) {
      this.#failures++;
      throw error;
    } finally {
      this.#writing = undefined;
    }
  }

  /** Writes the remaining rows. Never rejects: a row that cannot be written is reported, and lost. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#timer.cancel();
    try {
      await this.write();
    } catch (error) {
      this.#options.onError(error);
    }
  }

  async #writeInBackground(): Promise<void> {
    try {
      this.#leave();
      await this.write();
    } catch (error) {
      if (this.#failures === 1) this.#options.onError(error);
    }
    if (this.#changed.length > 0 || this.#written.size > 0 || this.#options.stored.hasChanged) this.#schedule();
  }

  async #writeAll(): Promise<void> {
    const changed = [...new Set(this.#changed)];
    this.#changed = [];
    this.#inWriting = changed;
    let store: UsageStore;
    try {
      store = await this.#options.store();
      const port = { settle: (row: UsageRow) => this.#settle(row), overflow: (row: UsageRow) => this.#overflowOf(row) };
      const { writer } = this.#options;
      await (writer === undefined ? writeRows(store, changed, port) : writer.writeRows(changed, port));
    } catch (error) {
      // Rows that were written are written again, which changes nothing.
      for (const row of changed) row.isChanged = true;
      this.#changed.push(...changed);
      throw error;
    } finally {
      this.#inWriting = [];
    }
    for (const row of changed) this.#written.add(row);
    await this.#options.stored.write(store);
  }

  /** Rows that nothing was added to since they were written leave memory. */
  #leave(): void {
    for (const row of this.#written) {
      if (row.isChanged) continue;
      row.isClosed = true;
      this.#rows.delete(rowKey(row.account, row.name, row.day));
    }
    this.#written = new Set();
  }

  #openDay(account: string, name: string, day: number): UsageRow {
    const key = rowKey(account, name, day);
    let row = this.#rows.get(key);
    if (row === undefined) {
      row = new UsageRow(account, name, day);
      this.#rows.set(key, row);
    }
    return row;
  }

  /**
   * The running write includes additions to this row. The row is marked as changed, so that it is written again when this write fails, and leaves memory later.
   */
  #overflowOf(row: UsageRow): UsageRow {
    const overflow = this.#openDay(row.account, OTHER_FUNCTIONS, row.day);
    if (!overflow.isChanged) this.noteChange(overflow);
    return overflow;
  }

  #settleAll(): void {
    for (const row of this.#inWriting) this.#settle(row);
    for (const row of this.#changed) this.#settle(row);
  }

  #settle(row: UsageRow): void {
    let sum = this.#accountSums.get(row.account);
    if (sum === undefined) {
      sum = newSlots();
      this.#accountSums.set(row.account, sum);
    }
    row.settle([this.#sum, sum]);
  }

  #schedule(): void {
    if (this.#isClosed) return;
    this.#timer.schedule(this.#failures === 0 ? WRITE_AFTER_MS : Math.min(MAX_RETRY_MS, 1000 * 2 ** this.#failures));
  }
}

/** The name that usage stands under of functions beyond those that an account has rows for on a day. No function can have it. */
export const OTHER_FUNCTIONS = '*';

function rowKey(account: string, name: string, day: number): string {
  return `${day}/${account}/${name}`;
}
