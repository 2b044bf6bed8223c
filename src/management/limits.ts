/** The limits of the API itself. The limits of functions belong to the host, see `FunctionPort`. */

import { LIMITS } from '../quotas/limits.js';
import { checkOptions, givenOf } from '../quotas/schema/check-options.js';
import { object, objectOf, type Schema, wholeNumberFrom } from '../quotas/schema/schema.js';

export interface ManagementLimits {
  /** A body of JSON. @default 1 MiB */
  readonly bodyBytes: number;
  /** Time to send a body, milliseconds. @default 60000 */
  readonly bodyMs: number;
  /** A body of an upload of modules, before compression. @default 64 MiB */
  readonly uploadBytes: number;
  /** Modules of one upload. @default 1000 */
  readonly uploadModules: number;
  /** Uploads whose bodies are held in memory at once; others wait. @default 2 */
  readonly uploadsAtOnce: number;
  /** Uploads that wait; beyond, the answer is 503. @default 50 */
  readonly uploadsWaiting: number;
  /** @default from quotas/limits.ts, the same for every plan */
  readonly routesPerZone: number;
  /** @default from quotas/limits.ts, the same for every plan */
  readonly zonesPerFunction: number;
  /** @default 10000 */
  readonly zonesPerAccount: number;
  /** @default 3500 */
  readonly recordsPerZone: number;
  /** Versions kept of each function; the oldest that does not serve goes first. @default 25 */
  readonly versionsKept: number;
  /** @default 1000 */
  readonly tokensPerAccount: number;
}

const DEFAULTS: ManagementLimits = {
  bodyBytes: 1024 ** 2,
  bodyMs: 60_000,
  uploadBytes: 64 * 1024 ** 2,
  uploadModules: 1000,
  uploadsAtOnce: 2,
  uploadsWaiting: 50,
  routesPerZone: LIMITS.routesPerZone.values.standard,
  zonesPerFunction: LIMITS.zonesPerFunction.values.standard,
  zonesPerAccount: 10_000,
  recordsPerZone: 3500,
  versionsKept: 25,
  tokensPerAccount: 1000,
};

const count = wholeNumberFrom(1);

export const MANAGEMENT_LIMITS: Schema<Partial<ManagementLimits>> = objectOf<Partial<ManagementLimits>>({
  'bodyBytes?': wholeNumberFrom(1, 'bytes'),
  'bodyMs?': wholeNumberFrom(1, 'ms'),
  'uploadBytes?': wholeNumberFrom(1, 'bytes'),
  'uploadModules?': count,
  'uploadsAtOnce?': count,
  'uploadsWaiting?': count,
  'routesPerZone?': count,
  'zonesPerFunction?': count,
  'zonesPerAccount?': count,
  'recordsPerZone?': count,
  'versionsKept?': count,
  'tokensPerAccount?': count,
});

/** @throws RangeError a limit that is not a whole number from 1 on */
export function resolveLimits(given: Partial<ManagementLimits> = {}): ManagementLimits {
  checkOptions('management()', { limits: given }, OF_MANAGEMENT);
  return Object.freeze({ ...DEFAULTS, ...givenOf(given) });
}

const OF_MANAGEMENT = object({ limits: MANAGEMENT_LIMITS });
