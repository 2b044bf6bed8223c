/**
 * The fields of a function's configuration. `load()`, `edgehost.toml` and the management API name these fields differently and check each by the same schema.
 */

import { ALWAYS_ON } from '../bindings/always-on-flags.js';
import { contradiction, COMPATIBILITY_FLAGS as KNOWN_FLAGS } from '../bindings/compatibility-flags.js';
import { compilePattern } from '../hostnames/route-pattern.js';
import { BINDING_NAME } from '../quotas/binding-name.js';
import { messageOf } from '../quotas/errors.js';
import { PLANS, type Plan } from '../quotas/limits.js';
import type { RouteMode } from '../quotas/requests/admission.js';
import { whyNotJson } from '../quotas/schema/json-value.js';
import { anything, choice, list, object, record, refined, type Schema, secret, text } from '../quotas/schema/schema.js';
import { checkCron } from './cron-expression.js';

/** An account or function name: also part of keys and file names of stacks. */
export const NAME: Schema<string> = text({
  pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$',
  description: '1 to 63 letters, digits, ".", "_" or "-", beginning with a letter or digit',
});

export const COMPATIBILITY_DATE: Schema<string> = refined(
  text({ format: 'date', description: 'a date as the string YYYY-MM-DD' }),
  date => (/^\d{4}-\d{2}-\d{2}$/.test(date) && date > latestDay() ? 'it is in the future' : undefined),
);

/** The day that it is where days begin first: who deploys may write the date of their own wall. */
function latestDay(): string {
  return new Date(Date.now() + 14 * 3_600_000).toISOString().slice(0, 10);
}

export const COMPATIBILITY_FLAGS: Schema<readonly string[]> = refined(
  list(
    text({
      enum: [...KNOWN_FLAGS, ...ALWAYS_ON],
      description: `one of ${KNOWN_FLAGS.map(flag => `'${flag}'`).join(', ')}, or one that always holds (docs/compatibility.md): there are no others`,
    }),
    { maxItems: 100 },
  ),
  flags => {
    // A value of another type is refused by the schema itself.
    const both = Array.isArray(flags) ? contradiction(flags) : undefined;
    return both === undefined ? undefined : `it has both ${both[0]} and ${both[1]}`;
  },
);

export const ROUTE_PATTERN: Schema<string> = refined(
  text({ minLength: 1, maxLength: 2048, description: 'a route pattern such as example.com/api/*' }),
  pattern => reasonOf(() => compilePattern(pattern)),
);

export const ROUTE_MODE: Schema<RouteMode> = choice(['fail-open', 'fail-closed']);

/** The mode of a route that names none, in every interface: a function that protects something must not be bypassed. */
export const DEFAULT_ROUTE_MODE: RouteMode = 'fail-closed';

export const CRON: Schema<string> = refined(
  text({ maxLength: 200, description: 'a cron expression of five fields' }),
  expression => reasonOf(() => checkCron(expression)),
);

/** The functions that watch a function. */
export const TAILS: Schema<readonly string[]> = list(NAME, { maxItems: 10 });

/** The same in files and in the management API. */
export const TAIL_CONSUMERS: Schema<readonly { readonly service: string }[]> = list(object({ service: NAME }), {
  maxItems: 10,
});

export const USAGE_MODEL: Schema<Plan> = choice(PLANS);

/** The value of a variable. */
export const VARIABLE: Schema<unknown> = refined(
  { ...anything(), description: 'a string or what JSON can hold' },
  whyNotJson,
);

export const VARIABLES: Schema<Readonly<Record<string, unknown>>> = record(VARIABLE, BINDING_NAME);

export const SECRET: Schema<string> = secret(text());

/** A text in the place of the object is a secret, so that messages quote neither. */
export const SECRETS: Schema<Readonly<Record<string, string>>> = secret(record(SECRET, BINDING_NAME));

/** The properties that the application passes along with an event. */
export const PROPS: Schema<Readonly<Record<string, unknown>>> = refined(record(anything()), whyNotJson);

/** The message of a check that throws. */
function reasonOf(check: () => unknown): string | undefined {
  try {
    check();
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}
