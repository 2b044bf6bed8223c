/**
 * The last changes of accounts, numbered and on disk: an application that was not connected when an account was removed, or given other options, learns of it
 * when it connects again, over restarts of this process.
 */

import { KeyedMutex } from '../../storage/records/keyed-mutex.js';
import { NO_BYTES } from '../../storage/records/no-bytes.js';
import type { Sublevel } from '../../storage/records/sublevel.js';
import type { AccountChange, MissedChanges, NumberedChange } from '../wire/account-changes.js';
import { decodeValue, encodeValue } from '../wire/values.js';

/** At most two of an account are kept: its removal, and the options that it was given afterwards. */
const MAX_CHANGES = 1000;
const MAX_BYTES = 1024 * 1024;
const KEY = 'changes';

interface Log {
  readonly last: number;
  /** All from here on are kept that still say something. */
  readonly first: number;
  readonly changes: readonly NumberedChange[];
}

export class AccountLog {
  readonly #store: Pick<Sublevel, 'get' | 'put'>;
  #log: Log | undefined;
  readonly #lock = new KeyedMutex();

  constructor(store: Pick<Sublevel, 'get' | 'put'>) {
    this.#store = store;
  }

  /**
   * Adds a change. Rejects when it cannot be written: then nothing was added.
   *
   * @param tell called in the order of the numbers, before the next application is greeted
   */
  add<Told>(change: AccountChange, tell: (numbered: NumberedChange) => Told): Promise<{ readonly told: Told }> {
    return this.#lock.run(KEY, async () => {
      const log = await this.#read();
      const numbered = { number: log.last + 1, change: together(log.changes, change) };
      const changes = [...log.changes.filter(each => !isSaidBy(each.change, change)), numbered];
      await this.#write({ ...log, last: numbered.number, changes });
      return { told: tell({ ...numbered, change }) };
    });
  }

  /**
   * @param seen the last that the application knows; undefined for one that begins
   * @param greeted called before the next change
   */
  since(seen: number | undefined, greeted: () => void): Promise<MissedChanges> {
    return this.#lock.run(KEY, async () => {
      const { last, first, changes } = await this.#read();
      greeted();
      if (seen === undefined) return { changes: [], last, isPartial: false };
      return { changes: changes.filter(({ number }) => number > seen), last, isPartial: seen + 1 < first };
    });
  }

  async #read(): Promise<Log> {
    this.#log ??= parsed(await this.#store.get(KEY));
    return this.#log;
  }

  async #write(whole: Log): Promise<void> {
    let log = whole;
    let { text } = encodeValue(log);
    while (log.changes.length > 1 && (log.changes.length > MAX_CHANGES || Buffer.byteLength(text) > MAX_BYTES)) {
      log = withoutOldest(log);
      ({ text } = encodeValue(log));
    }
    await this.#store.put(KEY, text);
    this.#log = log;
  }
}

/** Whether an application that follows the later change can skip the earlier one. */
function isSaidBy(earlier: AccountChange, later: AccountChange): boolean {
  return earlier.account === later.account && ('isRemoved' in later || 'update' in earlier);
}

/** Options that were changed one after the other, as one change. */
function together(changes: readonly NumberedChange[], change: AccountChange): AccountChange {
  if ('isRemoved' in change) return change;
  let { update } = change;
  for (const { change: earlier } of changes)
    if (earlier.account === change.account && 'update' in earlier) update = { ...earlier.update, ...update };
  return { ...change, update };
}

/** Several at once: each is the work of writing the log once more. */
function withoutOldest(log: Log): Log {
  const count = Math.ceil(log.changes.length / 10);
  return { ...log, first: (log.changes[count - 1]?.number ?? 0) + 1, changes: log.changes.slice(count) };
}

function parsed(text: unknown): Log {
  if (typeof text !== 'string') return { last: 0, first: 1, changes: [] };
  return decodeValue(text, NO_BYTES) as Log; // of #write()
}
