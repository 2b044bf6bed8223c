/** The options of `host.listener()`. */

import {
  flag,
  native,
  objectOf,
  type Schema,
  union,
  wholeNumber,
  wholeNumberOrInfinity,
} from '../quotas/schema/schema.js';
import type { EdgeFunction } from './edge-function.js';
import type { ListenerOptions } from './ingress/listener.js';

export interface HostListenerOptions extends ListenerOptions {
  /** Answers everything. @default the function that a route attaches */
  readonly function?: EdgeFunction;
  /**
   * Keep responses in front of the functions, where `Cache-Control`, `CDN-Cache-Control` or `Expires` says for how long, and a shared cache may give them to
   * everybody. They answer GET and HEAD without running the function, in any listener of the host. They are stored in the storage of the host, within the
   * limits `cacheFileBytes` and `cacheBytes`. @default false
   */
  readonly cache?: boolean;
}

export const LISTENER_OPTIONS: Schema<HostListenerOptions> = objectOf<HostListenerOptions>({
  'function?': native('object', 'a function that host.load() gave'),
  'trustProxy?': union([flag(), wholeNumber(1, 100)], {
    description: 'true, false, or the number of proxies, 1 to 100',
  }),
  'timeoutMs?': wholeNumberOrInfinity(1, 'ms'),
  'compression?': flag(),
  'cache?': flag(),
});
