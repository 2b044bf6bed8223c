/**
 * The options of `host.management()`, checked when they are given: the API itself starts later, when the storage is open. Options that need its tables are
 * checked then, and a mistake is reported by a `warning` event. These are the ids of families and of rows of the schedule, and schemas of zone settings.
 */

import { NAME } from '../../config-schema/function-shapes.js';
import { MANAGEMENT_LIMITS } from '../../management/limits.js';
import { PERMISSIONS } from '../../management/permissions.js';
import type { FamilyHandler, FamilyHandlers } from '../../management/ports.js';
import { RATE_LIMITS } from '../../management/rate-limit-options.js';
import {
  anything,
  choice,
  constant,
  list,
  native,
  object,
  objectOf,
  record,
  refined,
  type Schema,
  text,
  union,
} from '../../quotas/schema/schema.js';
import type { HostManagementOptions } from '../management-endpoint.js';

type Token = NonNullable<HostManagementOptions['tokens']>[number];
type Schedule = NonNullable<HostManagementOptions['schedule']>;
type ZoneSetting = NonNullable<HostManagementOptions['zoneSettings']>[string];

const NULL: Schema<null> = { type: 'null' };

const DAY: Schema<string> = text({ format: 'date' });

const EXPIRY: Schema<Date> = refined<Date>(native('object', 'a Date, or null'), date =>
  date instanceof Date && !Number.isNaN(date.getTime()) ? undefined : 'it is not a valid Date',
);

const TOKEN: Schema<Token> = objectOf<Token>({
  name: text({ minLength: 1 }),
  token: union(
    [
      text({ pattern: '^[\\x21-\\x7e]{32,512}$' }),
      object({ sha256: text({ pattern: '^[0-9a-fA-F]{64}$', description: '64 hex digits' }) }),
    ],
    // Messages end in logs.
    { description: 'a string of 32 to 512 printable characters, or { sha256 }', writeOnly: true },
  ),
  account: union([NAME, constant('*')], { description: 'the id of an account, or "*" for all' }),
  permissions: union([list(choice(PERMISSIONS)), constant('all')], {
    description: `"all", or an array of ${PERMISSIONS.join(', ')}`,
  }),
  'expiresOn?': union([EXPIRY, NULL], { description: 'a Date, or null' }),
});

const SECRETS_KEY: Schema<Uint8Array> = refined<Uint8Array>(native('object', 'a Uint8Array of 32 bytes'), key =>
  key instanceof Uint8Array && key.byteLength === 32 ? undefined : 'it is another object, or of another length',
);

/** By the id of a row; which ids there are the table of deprecations knows. */
const DAYS: Schema<NonNullable<Schedule['endOfLife']>> = record(DAY);

/** By the id of a family, likewise. */
const FAMILIES: Schema<FamilyHandlers> = record(native<FamilyHandler>('function'));

export const MANAGEMENT_OPTIONS: Schema<HostManagementOptions> = objectOf<HostManagementOptions>({
  'zoneOwnership?': native('function'),
  'tokens?': list(TOKEN),
  'now?': native('function', 'a function that answers a Date'),
  'basePath?': text({ pattern: '^((/[A-Za-z0-9_.~-]+)+)?$', description: 'a path such as "/client/v4", or ""' }),
  'schedule?': objectOf<Schedule>({
    'endOfLife?': DAYS,
    'deprecatedSince?': DAYS,
    'acceleratorSegment?': text({ pattern: '^[A-Za-z0-9_-]+$', description: 'one segment of a path' }),
  }),
  'datePin?': choice(['off', 'ahead', 'any']),
  'families?': FAMILIES,
  'zoneSettings?': record(objectOf<ZoneSetting>({ schema: native('object', 'a JSON schema'), default: anything() })),
  'limits?': MANAGEMENT_LIMITS,
  'rateLimit?': RATE_LIMITS,
  'secretsKey?': SECRETS_KEY,
  'onError?': native('function'),
});
