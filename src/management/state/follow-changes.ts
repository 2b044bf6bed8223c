/**
 * Puts into force what another process has written into the same storage: functions with their triggers and secrets, and zones. Everything else that the API
 * keeps is read from the storage whenever it is needed.
 */
import { EdgeError, errorCode, isEdgeErrorCode, messageOf } from '../../quotas/errors.js';
import { type CompressionSettings, isCompressionSetting } from '../zone-compression.js';
import type { ZoneOwners } from '../zone-owners.js';
import type { FunctionStore } from './function-store.js';
import type { ServingFunctions } from './serving-functions.js';
import type { Stores, ZoneRecord } from './stores.js';

export interface FollowChangesParts {
  readonly stores: Stores;
  readonly functionStore: FunctionStore;
  readonly serving: ServingFunctions;
  readonly zoneOwners: ZoneOwners;
  readonly compression: CompressionSettings;
  readonly hasAccount: (account: string) => Promise<boolean>;
  readonly onWarning: (error: Error) => void;
}

/** Kinds of records whose keys are "account/function", with more behind it or not. */
const OF_FUNCTION: ReadonlySet<string> = new Set(['functions', 'function-routes', 'secrets']);

export class FollowChanges {
  readonly #parts: FollowChangesParts;
  /** Zones whose names this process has taken, by id. */
  readonly #zones = new Map<string, Pick<ZoneRecord, 'account' | 'name'>>();
  /** Every stored function is to serve, since they were restored. */
  servesAll = false;
  #work: Promise<void> = Promise.resolve();

  constructor(parts: FollowChangesParts) {
    this.#parts = parts;
  }

  /** To be awaited before the first change, with the names of the stored zones taken. */
  async start(): Promise<void> {
    for await (const { id, account, name } of this.#parts.stores.zones.below()) this.#zones.set(id, { account, name });
  }

  /** Resolves when the change is in force, and never rejects. @param keys the written keys; undefined for any */
  changed(keys: readonly string[] | undefined): Promise<void> {
    const zones = new Set<string>();
    const functions = new Map<string, readonly [account: string, name: string]>();
    for (const text of keys ?? []) {
      const [, kind = '', key = ''] = /^!([^!]*)!(.*)$/s.exec(text) ?? [];
      const [first = '', second = ''] = key.split('/', 2);
      if (kind === 'zones' || (kind === 'zone-settings' && isCompressionSetting(second))) zones.add(first);
      else if (OF_FUNCTION.has(kind) && second !== '') functions.set(`${first}/${second}`, [first, second]);
    }
    if (keys !== undefined && zones.size + functions.size === 0) return this.#work;
    this.#work = this.#work
      .then(() => (keys === undefined ? this.#followAll() : this.#follow(zones, functions.values())))
      .catch((error: unknown) => this.#warn('What another process has changed cannot be read', error));
    return this.#work;
  }

  async #follow(zones: Iterable<string>, functions: Iterable<readonly [string, string]>): Promise<void> {
    for (const id of zones) await this.#followZone(id, (await this.#parts.stores.zones.get(id))?.value);
    for (const [account, name] of functions) await this.#followFunction(account, name);
  }

  async #followAll(): Promise<void> {
    const { stores, serving } = this.#parts;
    const stored = new Map<string, ZoneRecord>();
    for await (const zone of stores.zones.below()) stored.set(zone.id, zone);
    // Names that have changed hands can be taken once they are free: of the zones that are gone, and of the routes in them.
    const left = new Set<string>();
    for (const [id, { account }] of this.#zones) {
      if (stored.has(id)) continue;
      left.add(account);
      await this.#followZone(id, undefined);
    }
    for (const { account, name } of serving.all) if (left.has(account)) await this.#followFunction(account, name);
    for (const [id, zone] of stored) await this.#followZone(id, zone);
    const functions = new Map(serving.all.map(({ account, name }) => [`${account}/${name}`, [account, name] as const]));
    if (this.servesAll) {
      for await (const [key, { name }] of stores.functions.entries())
        functions.set(key, [key.slice(0, -name.length - 1), name]);
    }
    await this.#follow([], functions.values());
  }

  async #followZone(id: string, zone: ZoneRecord | undefined): Promise<void> {
    const known = this.#zones.get(id);
    const { zoneOwners, compression, stores } = this.#parts;
    if (zone === undefined) {
      this.#zones.delete(id);
      if (known !== undefined) zoneOwners.release(known.account, known.name);
      return;
    }
    if (known === undefined) {
      this.#zones.set(id, { account: zone.account, name: zone.name });
      zoneOwners.claimOne(zone);
    }
    await compression.restoreZone(stores, zone);
  }

  /** Holds the function's lock, so that changes in flight in this process are complete. */
  async #followFunction(account: string, name: string): Promise<void> {
    const { stores, functionStore, serving } = this.#parts;
    try {
      await functionStore.locked(account, name, async () => {
        if (!(await this.#parts.hasAccount(account))) return;
        const stored = await stores.functions.get(account, name);
        if (stored !== undefined) {
          const version = await functionStore.version(account, name, stored.value.version_id);
          await serving.serve(await functionStore.deployment(account, name, version));
        } else if (serving.has(account, name)) await serving.remove(account, name);
      });
    } catch (error) {
      this.#warn(`Function "${name}" of account "${account}" does not serve as another process has changed it`, error);
    }
  }

  #warn(what: string, cause: unknown): void {
    const why = messageOf(cause);
    const code = errorCode(cause) ?? '';
    this.#parts.onWarning(new EdgeError(isEdgeErrorCode(code) ? code : 'EDGE_INTERNAL', `${what}: ${why}`, { cause }));
  }
}
