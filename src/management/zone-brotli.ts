/** Puts the zone setting `brotli` into force in the listeners of the host, until the schedule ends it. */
import type { Schedule } from './deprecations/deprecation-timeline.js';
import type { Stores, ZoneRecord } from './state/stores.js';
import type { ZoneOwners } from './zone-owners.js';

export const BROTLI = 'brotli';

export class BrotliSetting {
  readonly #owners: ZoneOwners;
  readonly #isInForce: () => boolean;

  constructor(owners: ZoneOwners, schedule: Schedule, now: () => Date) {
    this.#owners = owners;
    this.#isInForce = () => !schedule.isFinished('setting-brotli', now().getTime());
  }

  /** @param value undefined when the zone has not set it */
  apply({ account, name }: Pick<ZoneRecord, 'account' | 'name'>, value: unknown): void {
    this.#owners.setBrotli(account, name, value, this.#isInForce);
  }

  /** Reads that of a zone. */
  async restoreZone(stores: Stores, { id, account, name }: Pick<ZoneRecord, 'id' | 'account' | 'name'>): Promise<void> {
    if (!this.#isInForce()) return;
    this.apply({ account, name }, (await stores.zoneSettings.get(id, BROTLI))?.value.value);
  }

  /** Reads those of all zones; none when the schedule has ended them. */
  async restore(stores: Stores): Promise<void> {
    if (!this.#isInForce()) return;
    for await (const [key, { value }] of stores.zoneSettings.entries()) {
      const [id = '', setting] = key.split('/');
      const zone = setting === BROTLI ? (await stores.zones.get(id))?.value : undefined;
      if (zone !== undefined) this.apply(zone, value);
    }
  }
}
