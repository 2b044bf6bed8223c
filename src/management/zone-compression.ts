/** Puts the zone settings `brotli`, until the schedule ends it, and `compression_rules` into force in the listeners of the host. */
import type { CompressionRule } from '../hostnames/zone-compression.js';
import type { Schedule } from './deprecations/deprecation-timeline.js';
import type { FunctionPort } from './ports.js';
import type { Stores, ZoneRecord } from './state/stores.js';
import type { ZoneOwners } from './zone-owners.js';
import { COMPRESSION_RULES } from './zone-settings.js';

const BROTLI = 'brotli';

/** Whether the listeners of the host follow the setting. */
export function isCompressionSetting(name: string): boolean {
  return name === BROTLI || name === COMPRESSION_RULES;
}

export interface ZoneCompressionParts {
  readonly owners: ZoneOwners;
  readonly schedule: Schedule;
  readonly functions: Pick<FunctionPort, 'zonePlan'>;
  readonly now: () => Date;
}

export class CompressionSettings {
  readonly #parts: ZoneCompressionParts;

  constructor(parts: ZoneCompressionParts) {
    this.#parts = parts;
  }

  /** @param value undefined when the zone has not set it */
  apply({ account, name }: Pick<ZoneRecord, 'account' | 'name'>, setting: string, value: unknown): void {
    const { owners, functions } = this.#parts;
    if (setting === BROTLI) owners.setBrotli(account, name, value, () => this.#hasBrotliSetting());
    else if (setting === COMPRESSION_RULES) {
      // Its schema was checked before it was stored.
      const rules = value as readonly CompressionRule[] | undefined;
      owners.setCompressionRules(account, name, rules, () => functions.zonePlan(account) === 'enterprise');
    }
  }

  /** Reads the settings of a zone. */
  async restoreZone(stores: Stores, { id, account, name }: Pick<ZoneRecord, 'id' | 'account' | 'name'>): Promise<void> {
    for (const setting of [BROTLI, COMPRESSION_RULES]) {
      this.apply({ account, name }, setting, (await stores.zoneSettings.get(id, setting))?.value.value);
    }
  }

  /** Reads the settings of all zones. */
  async restore(stores: Stores): Promise<void> {
    for await (const [key, { value }] of stores.zoneSettings.entries()) {
      const [id = '', setting = ''] = key.split('/');
      if (setting === BROTLI && !this.#hasBrotliSetting()) continue;
      const zone = isCompressionSetting(setting) ? (await stores.zones.get(id))?.value : undefined;
      if (zone !== undefined) this.apply(zone, setting, value);
    }
  }

  #hasBrotliSetting(): boolean {
    const { schedule, now } = this.#parts;
    return !schedule.isFinished('setting-brotli', now().getTime());
  }
}
