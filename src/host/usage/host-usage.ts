/** The usage of a host's accounts: counted, kept in the storage, and asked for. */

import type { RemoteUsage } from '../../backend/client/remote-usage.js';
import { EdgeError } from '../../quotas/errors.js';
import type { CallWork } from '../../quotas/host/call-work.js';
import type { StorageOwner } from '../../storage/storage-owner.js';
import { FunctionUsage } from '../../usage/function-usage.js';
import { type StoredBytes, StoredHoursMeter } from '../../usage/stored-bytes.js';
import { type ResolvedUsageQuery, resolveUsageQuery, type UsageQuery } from '../../usage/usage-query.js';
import { UsageRecorder } from '../../usage/usage-recorder.js';
import type { UsageRecords } from '../../usage/usage-records.js';
import { type UsageReport, usageReport } from '../../usage/usage-report.js';
import { UsageStore, usageStorage } from '../../usage/usage-store.js';
import { checkName } from '../options/options.js';

export interface HostUsageOptions {
  /** Undefined: usage is not kept. */
  readonly keepDays: number | undefined;
  readonly now: () => number;
  /** Opens the storage when it is not open yet. */
  readonly records: () => Promise<UsageRecords>;
  readonly stored: StoredBytes;
  /** With a backend process. @default usage is written here */
  readonly remote?: RemoteUsagePart;
  readonly onError: (error: unknown) => void;
}

export interface RemoteUsagePart {
  readonly usage: RemoteUsage;
  /** Resolves when everything is known of the invocations that are over. */
  readonly settled: () => Promise<void>;
}

/** Which usage of a host. */
export interface HostUsageQuery extends UsageQuery {
  /** @default every account */
  readonly account?: string;
}

/** The days of earlier usage that remain when usage is no longer kept. */
export const DEFAULT_KEEP_DAYS = 400;

export class HostUsage {
  /** The owner of usage records in the storage. */
  readonly owner: StorageOwner;
  /** Undefined when usage is not kept. */
  readonly recorder: UsageRecorder | undefined;
  readonly #options: HostUsageOptions;
  #isClosed = false;
  #store: Promise<UsageStore> | undefined;

  constructor(options: HostUsageOptions) {
    const { keepDays = DEFAULT_KEEP_DAYS, now, stored, remote, onError } = options;
    this.#options = options;
    this.owner = usageStorage({ keepDays: () => keepDays, now });
    if (options.keepDays === undefined) return;
    this.recorder = new UsageRecorder({
      now,
      store: () => this.#open(),
      stored: remote?.usage.meter ?? new StoredHoursMeter(stored, { now, keepDays }),
      ...(remote !== undefined && { writer: remote.usage }),
      onError,
    });
  }

  function(account: string, name: string): FunctionUsage | undefined {
    return this.recorder === undefined ? undefined : new FunctionUsage(account, name, this.recorder);
  }

  /**
   * The report of one account, with everything that was over before. Rejects like `account.usage()`.
   * @param work the account that reading is charged to. @default none
   */
  async report(where: string, account: string, query: UsageQuery, work?: CallWork): Promise<UsageReport> {
    const resolved = resolveUsageQuery(where, query, this.#options.now());
    return this.#report(where, account, resolved, work);
  }

  /** The reports of all accounts that have usage on the days or something stored, one after the other. */
  async *reports(where: string, query: HostUsageQuery): AsyncGenerator<UsageReport, void, undefined> {
    const { account: only, ...days } = query;
    if (only !== undefined) checkName('an account', only);
    const resolved = resolveUsageQuery(where, days, this.#options.now());
    for (const account of only === undefined ? await this.#accounts(where, resolved) : [only])
      yield await this.#report(where, account, resolved);
  }

  /** The accounts that have usage on the days, or something stored; those that are removed are among them. */
  async accounts(where: string, query: UsageQuery): Promise<string[]> {
    return this.#accounts(where, resolveUsageQuery(where, query, this.#options.now()));
  }

  async #accounts(where: string, { fromDay, endDay }: ResolvedUsageQuery): Promise<string[]> {
    const recorder = this.#recorderFor(where);
    await this.#options.remote?.settled();
    await recorder.write();
    return (await this.#open()).accounts(fromDay, endDay);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.recorder?.close();
    await this.#options.remote?.usage.close();
  }

  async #report(where: string, account: string, query: ResolvedUsageQuery, work?: CallWork): Promise<UsageReport> {
    const recorder = this.#recorderFor(where);
    recorder.noteStored(account);
    await this.#options.remote?.settled();
    await recorder.write();
    return usageReport(await this.#open(), account, query, this.#options.now(), work);
  }

  #recorderFor(where: string): UsageRecorder {
    // The storage would be opened again.
    if (this.#isClosed) throw new EdgeError('EDGE_CLOSED', `Cannot answer ${where}: the host is closed`);
    if (this.recorder !== undefined) return this.recorder;
    throw new EdgeError(
      'EDGE_NOT_SUPPORTED',
      `Cannot answer ${where}: the host keeps no usage; give new EdgeHost() the option storage or usage`,
    );
  }

  #open(): Promise<UsageStore> {
    this.#store ??= this.#options.records().then(
      records => new UsageStore(records),
      (error: unknown) => {
        // The directory may be free by the next time.
        this.#store = undefined;
        throw error;
      },
    );
    return this.#store;
  }
}
