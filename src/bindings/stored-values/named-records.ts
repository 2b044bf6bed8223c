/** The records of things that accounts give names to: buckets, namespaces, queues and databases. */
import type { CallWork } from '../../quotas/host/call-work.js';
import { type Schema, text } from '../../quotas/schema/schema.js';
import type { StoredAccounting, SumChange } from '../../storage/accounts/account-sum.js';
import { deletion, recordPages } from '../../storage/records/fresh-pages.js';
import type { LevelOperation } from '../../storage/records/level-database.js';
import type { StorageContext } from '../../storage/storage-context.js';
import { commitChange } from './commit-change.js';

export interface NamedRecord {
  /** Made by the host, and never used again. */
  readonly id: string;
  /** Milliseconds since the epoch. */
  readonly created: number;
}

export type Owned<Stored> = Stored & { readonly account: string; readonly name: string };

/** The account, in whose turn its records are read and written. */
export interface NamedOwner {
  readonly storage: StorageContext;
  readonly account: string;
  readonly work: CallWork;
}

/** Steps of a creation, in this order. When one throws, nothing is created. */
export interface Creation {
  /** Whether the account may have one more. No other of its kind is created meanwhile. */
  readonly check?: () => Promise<void>;
  /** The disk has room for the record. */
  readonly prepare?: () => Promise<void>;
  /** The change of the stored sum of the account. @default nothing */
  readonly change?: (sum: StoredAccounting) => SumChange;
}

const NOTHING = { bytes: 0, objects: 0 };

/** The names that a thing can have. */
export class NameRule {
  /** The name in the configuration of a function. */
  readonly schema: Schema<string>;
  /** The rule in words. */
  readonly description: string;
  readonly #pattern: RegExp;

  constructor(subject: string, pattern: string, description: string) {
    this.schema = text({ pattern, description: `${subject}: ${description}` });
    this.description = description;
    this.#pattern = new RegExp(pattern);
  }

  /** The application's code need not be TypeScript, and a pattern would take undefined for its name. */
  allows(name: unknown): name is string {
    return typeof name === 'string' && this.#pattern.test(name);
  }
}

/** A name that may be anything, for the message of an error. */
export function quotedName(name: unknown): string {
  return JSON.stringify(`${name}`.slice(0, 100));
}

export class NamedRecords<Stored extends NamedRecord> {
  readonly names: NameRule;
  readonly #prefix: string;

  /** @param prefix what the keys of all accounts begin with */
  constructor(prefix: string, names: NameRule) {
    this.names = names;
    this.#prefix = prefix;
  }

  keyOf(account: string, name: string): string {
    return `${this.#prefix}${encodeURIComponent(account)}/${name}`;
  }

  /** The record was written by this file. */
  parse(record: Buffer): Stored {
    return JSON.parse(record.toString());
  }

  /** The records of an account, or of all accounts. The caller may write and remove records meanwhile. */
  async *all({ records }: StorageContext, account?: string, work?: CallWork): AsyncGenerator<Owned<Stored>> {
    const prefix = account === undefined ? this.#prefix : this.keyOf(account, '');
    for await (const page of recordPages(records, prefix, work)) {
      for (const [key, record] of page) {
        const [owner = '', name = ''] = key.slice(this.#prefix.length).split('/');
        yield { ...this.parse(record), account: decodeURIComponent(owner), name };
      }
    }
  }

  async *accounts(storage: StorageContext): AsyncGenerator<string> {
    for await (const { account } of this.all(storage)) yield account;
  }

  async list({ storage, account, work }: NamedOwner): Promise<Owned<Stored>[]> {
    const found: Owned<Stored>[] = [];
    for await (const one of this.all(storage, account, work)) found.push(one);
    return found;
  }

  /** A value that cannot be a name has no record. */
  async read({ storage, account, work }: NamedOwner, name: unknown): Promise<Stored | undefined> {
    if (!this.names.allows(name)) return undefined;
    const record = await storage.records.get(this.keyOf(account, name), work);
    return record === undefined ? undefined : this.parse(record);
  }

  /**
   * The record of the name, and whether this call created it. The caller has checked the name.
   *
   * @param fields what the record has besides its id and its time
   */
  create(
    owner: NamedOwner,
    name: string,
    fields: Omit<Stored, keyof NamedRecord>,
    { check, prepare, change }: Creation = {},
  ): Promise<readonly [Stored, boolean]> {
    const { storage, account, work } = owner;
    const { records, mutex } = storage;
    const key = this.keyOf(account, name);
    return mutex.run(key, async () => {
      await records.awaitRecovery(work);
      const existing = await this.read(owner, name);
      if (existing !== undefined) return [existing, false];
      return mutex.run(this.keyOf(account, ''), async () => {
        await check?.();
        const record = Buffer.from(JSON.stringify({ id: storage.newId(), created: storage.now(), ...fields }));
        const operation = { type: 'put', key, value: record } as const;
        await records.reserveSpace([operation]);
        await prepare?.();
        const sum = storage.sums.of(account);
        await sum.ready();
        await commitChange(records, [operation], change?.(sum) ?? sum.change(NOTHING), work);
        return [this.parse(record), true];
      });
    });
  }

  /** An account of this id has none when it resolves. It can be repeated. @param removal puts the record of a removal, by the id */
  async detach(
    storage: StorageContext,
    account: string,
    removal: (removed: Owned<Stored>) => LevelOperation,
  ): Promise<void> {
    for await (const one of this.all(storage, account))
      await storage.records.commit([removal(one), deletion(this.keyOf(account, one.name))]);
  }
}
