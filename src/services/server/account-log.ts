/**
 * The last changes of accounts, numbered and on disk: an application that was not connected when an account was removed, or given other options, learns of it
 * when it connects again, over restarts of this process.
 */
import type { Sublevel } from '../../storage/records/sublevel.js';
import type { AccountChange, MissedChanges, NumberedChange } from '../account-changes.js';
import { decodeValue, encodeValue } from '../remote/values.js';

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
  #turn: Promise<unknown> = Promise.resolve();

  constructor(store: Pick<Sublevel, 'get' | 'put'>) {
    this.#store = store;
  }

  /**
   * Adds a change. Rejects when it cannot be written: then there is none.
   *
   * @param tell called in the order of the numbers, before the next application is greeted
   */
  add<Told>(change: AccountChange, tell: (numbered: NumberedChange) => Told): Promise<{ readonly told: Told }> {
    return this.#inTurn(async () => {
      const log = await this.#read();
      const numbered = { number: log.last + 1, change: together(log.changes, change) };
      const changes = [...log.changes.filter(each => !isSaidBy(each.change, change)), numbered];
      await this.#write(bounded({ ...log, last: numbered.number, changes }));
      return { told: tell({ ...numbered, change }) };
    });
  }

  /**
   * @param seen the last that the application knows; undefined for one that begins
   * @param greeted called before the next change
   */
  since(seen: number | undefined, greeted: () => void): Promise<MissedChanges> {
    return this.#inTurn(async () => {
      const { last, first, changes } = await this.#read();
      greeted();
      if (seen === undefined) return { changes: [], last, isPartial: false };
      return { changes: changes.filter(({ number }) => number > seen), last, isPartial: seen + 1 < first };
    });
  }

  #inTurn<Result>(task: () => Promise<Result>): Promise<Result> {
    const run = this.#turn.then(task);
    this.#turn = run.catch(() => {});
    return run;
  }

  async #read(): Promise<Log> {
    this.#log ??= parsed(await this.#store.get(KEY));
    return this.#log;
  }

  async #write(log: Log): Promise<void> {
    await this.#store.put(KEY, encodeValue(log).text);
    this.#log = log;
  }
}

/** An earlier change that nobody has to follow any more who follows the later one. */
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

function bounded(log: Log): Log {
  let { first, changes } = log;
  while (changes.length > 1 && (changes.length > MAX_CHANGES || sizeOf(changes) > MAX_BYTES)) {
    const dropped = changes.slice(0, Math.ceil(changes.length / 10));
    first = (dropped.at(-1)?.number ?? 0) + 1;
    changes = changes.slice(dropped.length);
  }
  return { ...log, first, changes };
}

function sizeOf(changes: readonly NumberedChange[]): number {
  return Buffer.byteLength(encodeValue(changes).text);
}

function parsed(text: unknown): Log {
  if (typeof text !== 'string') return { last: 0, first: 1, changes: [] };
  return decodeValue(text, new Uint8Array(0)) as Log; // of #write()
}
