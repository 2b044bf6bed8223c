/** What a function's configuration is made of. `load()`, `edgehost.toml` and the management API name these fields differently and check each by the same schema. */

import type { RouteMode } from '../../quotas/admission.js';
import { BINDING_NAME } from '../../quotas/binding-name.js';
import { PLANS, type Plan } from '../../quotas/limits.js';
import { anything, choice, list, record, refined, type Schema, secret, text } from '../../quotas/schema/schema.js';
import { checkCron } from '../cron.js';
import { compilePattern } from '../router.js';

/** An account or function name: also part of keys and file names of stacks. */
export const NAME: Schema<string> = text({
  pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$',
  description: '1 to 63 letters, digits, ".", "_" or "-", beginning with a letter or digit',
});

export const COMPATIBILITY_DATE: Schema<string> = text({
  format: 'date',
  description: 'a date as the string YYYY-MM-DD',
});

export const COMPATIBILITY_FLAGS: Schema<readonly string[]> = list(text({ minLength: 1, maxLength: 100 }), {
  maxItems: 100,
});

export const ROUTE_PATTERN: Schema<string> = refined(
  text({ minLength: 1, maxLength: 2048, description: 'a route pattern such as example.com/api/*' }),
  pattern => reasonOf(() => compilePattern(pattern)),
);

export const ROUTE_MODE: Schema<RouteMode> = choice(['fail-open', 'fail-closed']);

export const CRON: Schema<string> = refined(
  text({ maxLength: 200, description: 'a cron expression of five fields' }),
  expression => reasonOf(() => checkCron(expression)),
);

export const USAGE_MODEL: Schema<Plan> = choice(PLANS);

/** The value of a variable. */
export const VARIABLE: Schema<unknown> = refined(
  { ...anything(), description: 'a string or what JSON can hold' },
  whyNotJson,
);

export const VARIABLES: Schema<Readonly<Record<string, unknown>>> = record(VARIABLE, BINDING_NAME);

export const SECRET: Schema<string> = secret(text());

export const SECRETS: Schema<Readonly<Record<string, string>>> = record(SECRET, BINDING_NAME);

/** JSON writes `null` for such a number, which would be another value. */
function whyNotJson(value: unknown): string | undefined {
  return reasonOf(() => {
    const json: unknown = JSON.stringify(value, (_, part: unknown) => {
      if (typeof part === 'number' && !Number.isFinite(part)) throw new TypeError(`JSON cannot hold ${part}`);
      return part;
    });
    if (json === undefined) throw new TypeError('JSON cannot hold it');
  });
}

/** What a check says that throws what it finds. */
function reasonOf(check: () => unknown): string | undefined {
  try {
    check();
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
