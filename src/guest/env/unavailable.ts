/** The object in place of a service that does not exist: it can be passed around, and throws when it is used. */
import type { GuestUnavailableConfig } from '../../bindings/unavailable/wire.ts';
import { setPrototypeOf } from '../primordials.ts';
import { notSupported } from '../web/base/not-supported.ts';

const ProxyCtor = Proxy;

class Handler {
  readonly #why: string;

  constructor(why: string) {
    this.#why = why;
  }

  /** The language and the console ask each object for these names. */
  get(_target: object, key: string | symbol): undefined {
    if (typeof key === 'symbol' || key === 'then' || key === 'toJSON' || key === 'constructor') return undefined;
    throw notSupported(this.#why);
  }

  set(): boolean {
    return false;
  }

  defineProperty(): boolean {
    return false;
  }

  setPrototypeOf(): boolean {
    return false;
  }
}

// Without inherited traps.
setPrototypeOf(Handler.prototype, null);

export function createUnavailable(_platform: unknown, _name: string, config: unknown): object {
  const { why } = config as GuestUnavailableConfig; // the host's own guestConfig
  return new ProxyCtor({}, new Handler(why) as ProxyHandler<object>);
}
