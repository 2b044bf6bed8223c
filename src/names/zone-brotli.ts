/** The setting `brotli` of the zones of the management API, for the listeners of the host. A zone that has not set it has Brotli. */
import { nameOfHost, namesAbove } from './host-names.js';

interface OwnSetting {
  readonly account: string;
  readonly isOn: boolean;
  /** The setting ends by the schedule: Brotli is then on for all zones. */
  readonly isInForce: () => boolean;
}

export class ZoneBrotli {
  /** By zone. Another account may have stored the same zone, which then has no effect. */
  readonly #settings = new Map<string, OwnSetting>();
  readonly #ownerOf: (name: string) => string | undefined;

  constructor(ownerOf: (name: string) => string | undefined) {
    this.#ownerOf = ownerOf;
  }

  set(account: string, zone: string, isOn: boolean, isInForce: () => boolean): void {
    this.#settings.set(zone, { account, isOn, isInForce });
  }

  /** The zone is gone, or has the default again. */
  delete(account: string, zone: string): void {
    if (this.#settings.get(zone)?.account === account) this.#settings.delete(zone);
  }

  deleteAccount(account: string): void {
    for (const [zone, setting] of this.#settings) if (setting.account === account) this.#settings.delete(zone);
  }

  /** Whether answers of a host name may be compressed by Brotli; the nearest zone that has set it decides. `host` may have a port. */
  isOn(host: string): boolean {
    if (this.#settings.size === 0) return true;
    const name = nameOfHost(host);
    const own = this.#settings.get(name);
    if (own !== undefined) return this.#allows(name, own);
    for (const above of namesAbove(name)) {
      const setting = this.#settings.get(above);
      if (setting !== undefined) return this.#allows(name, setting);
    }
    return true;
  }

  #allows(name: string, { account, isOn, isInForce }: OwnSetting): boolean {
    return isOn || this.#ownerOf(name) !== account || !isInForce();
  }
}
