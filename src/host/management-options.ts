/** The options of `host.management()`, checked when they are given: the API itself starts later, when the storage is open. */

import { MANAGEMENT_LIMITS } from '../management/limits.js';
import { RATE_LIMITS } from '../management/rate-limits.js';
import { choice, native, objectOf, type Schema, text } from '../quotas/schema/schema.js';
import type { HostManagementOptions } from './management-endpoint.js';

/** What is `native` here has checks of its own, which say more than a type. */
export const MANAGEMENT_OPTIONS: Schema<HostManagementOptions> = objectOf<HostManagementOptions>({
  'zoneOwnership?': native('function'),
  'tokens?': native('object', 'an array of tokens'),
  'now?': native('function'),
  'basePath?': text(),
  'schedule?': native('object'),
  'datePin?': choice(['off', 'ahead', 'any']),
  'families?': native('object', 'an object of handlers'),
  'zoneSettings?': native('object', 'an object of settings by name'),
  'limits?': MANAGEMENT_LIMITS,
  'rateLimit?': RATE_LIMITS,
  'secretsKey?': native('object', 'a Uint8Array of 32 bytes'),
  'onError?': native('function'),
});
