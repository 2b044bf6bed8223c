/**
 * The usage of all applications of a storage: one sum for each function and day. Messages of an application are added in their order, each in one commit
 * with its number, so that one that comes again changes nothing.
 */
import type { LevelOperation } from '../../storage/records/level-database.js';
import { callSoon } from '../../usage/call-soon.js';
import type { StoredHoursMeter } from '../../usage/stored-bytes.js';
import { usageKeys } from '../../usage/usage-keys.js';
import { OTHER_FUNCTIONS } from '../../usage/usage-recorder.js';
import { UsageRow } from '../../usage/usage-row.js';
import { decodeSlots } from '../../usage/usage-slots.js';
import { decodeSender, encodeSender, type UsageStore } from '../../usage/usage-store.js';
import { writeRows } from '../../usage/write-rows.js';
import type { SharedUsage, UsageEntry } from '../wire/shared-usage.js';

export interface KeptUsageOptions {
  readonly store: UsageStore;
  readonly meter: StoredHoursMeter;
  readonly now: () => number;
}

const MEASURE_AFTER_MS = 800;
const RETRY_MS = 5000;

export class KeptUsage implements SharedUsage {
  readonly #options: KeptUsageOptions;
  readonly #timer = callSoon(() => this.#measureInBackground());
  /** Runs one task after the other: each reads sums, and writes them with its additions. */
  #last: Promise<unknown> = Promise.resolve();
  #isKept = false;

  constructor(options: KeptUsageOptions) {
    this.#options = options;
  }

  /** Some application keeps usage: from now on it is measured what accounts have stored. */
  keep(): void {
    this.#isKept = true;
  }

  add(sender: string, number: number, entries: readonly UsageEntry[]): Promise<void> {
    return this.#inTurn(() => this.#add(sender, number, entries));
  }

  /** The sender sends nothing more. */
  left(sender: string): Promise<void> {
    return this.#inTurn(() => this.#options.store.commit([{ type: 'del', key: usageKeys.sender(sender) }]));
  }

  /** The account's stored sum has changed. */
  noteStored(account: string): void {
    if (!this.#isKept) return;
    this.#options.meter.noteChange(account);
    this.#timer.schedule(MEASURE_AFTER_MS);
  }

  /** Resolves when the hours of these accounts are on disk. */
  measure(accounts: readonly string[]): Promise<void> {
    for (const account of accounts) this.#options.meter.noteChange(account);
    return this.#inTurn(() => this.#options.meter.write(this.#options.store));
  }

  async close(): Promise<void> {
    this.#isKept = false;
    this.#timer.cancel();
    if (this.#options.meter.hasChanged) await this.measure([]).catch(() => {}); // the hours are added with the next change
  }

  async #measureInBackground(): Promise<void> {
    try {
      await this.measure([]);
    } catch {
      // The storage says itself that it fails.
      this.#timer.schedule(RETRY_MS);
    }
  }

  #inTurn(task: () => Promise<void>): Promise<void> {
    const run = this.#last.then(task);
    this.#last = run.catch(() => {});
    return run;
  }

  async #add(sender: string, number: number, entries: readonly UsageEntry[]): Promise<void> {
    const { store, now } = this.#options;
    const senderKey = usageKeys.sender(sender);
    const [known] = await store.getMany([senderKey]);
    if (known !== undefined && decodeSender(known).number >= number) return;
    const others = new Map<string, UsageRow>();
    const buffered = new OneCommit(store);
    const rows = entries.map(([account, name, day, text]) => {
      const row = new UsageRow(account, name, day);
      row.total.set(decodeSlots(Buffer.from(text)));
      return row;
    });
    await writeRows(buffered, rows, {
      settle: () => {},
      overflow: ({ account, day }) => {
        const key = `${day}/${account}`;
        const other = others.get(key) ?? new UsageRow(account, OTHER_FUNCTIONS, day);
        others.set(key, other);
        return other;
      },
    });
    await buffered.commitAll([{ type: 'put', key: senderKey, value: encodeSender({ number, atMs: now() }) }]);
  }
}

/** A store of which several commits become one. */
class OneCommit implements Pick<UsageStore, 'getMany' | 'commit'> {
  readonly #store: UsageStore;
  readonly #operations = new Map<string, LevelOperation>();

  constructor(store: UsageStore) {
    this.#store = store;
  }

  async getMany(keys: string[]): Promise<(Buffer | undefined)[]> {
    const stored = await this.#store.getMany(keys);
    return stored.map((value, index) => {
      const operation = this.#operations.get(keys[index] ?? '');
      return operation?.type === 'put' ? Buffer.from(operation.value) : value;
    });
  }

  async commit(operations: readonly LevelOperation[]): Promise<void> {
    for (const operation of operations) this.#operations.set(operation.key, operation);
  }

  commitAll(more: readonly LevelOperation[]): Promise<void> {
    return this.#store.commit([...this.#operations.values(), ...more]);
  }
}
