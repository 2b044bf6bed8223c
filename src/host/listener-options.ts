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
}

export const LISTENER_OPTIONS: Schema<HostListenerOptions> = objectOf<HostListenerOptions>({
  'function?': native('object', 'a function that host.load() gave'),
  'trustProxy?': union([flag(), wholeNumber(1, 100)], {
    description: 'true, false, or the number of proxies, 1 to 100',
  }),
  'timeoutMs?': wholeNumberOrInfinity(1, 'ms'),
});
