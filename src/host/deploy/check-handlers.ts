import { CronExpression, SUNDAY_IS_1_FLAG } from '../../config-schema/cron-expression.js';
import type { WeekdayNumbers } from '../../config-schema/cron-fields.js';
import { EdgeError } from '../../quotas/errors.js';
import type { ResolvedLoadOptions } from '../options/options.js';

/**
 * Cron triggers start the handler `scheduled`, and messages the handler `queue`: without it each of them would only be a failed invocation.
 *
 * @throws EdgeError EDGE_SCRIPT_NO_HANDLER
 */
export function checkHandlers(
  act: string,
  handlers: readonly string[],
  { crons, consumers }: Pick<ResolvedLoadOptions, 'crons' | 'consumers'>,
): void {
  check(
    act,
    handlers,
    'scheduled',
    'cron triggers',
    crons.map(({ cron }) => cron),
  );
  check(
    act,
    handlers,
    'queue',
    'consumed queues',
    consumers.map(({ queue }) => queue),
  );
}

function check(
  act: string,
  handlers: readonly string[],
  handler: string,
  what: string,
  wanted: readonly string[],
): void {
  if (wanted.length === 0 || handlers.includes(handler)) return;
  const has = handlers.length === 0 ? 'no handler' : `the handlers ${handlers.join(', ')}`;
  throw new EdgeError(
    'EDGE_SCRIPT_NO_HANDLER',
    `Cannot ${act}: the ${what} ${wanted.map(each => JSON.stringify(each)).join(', ')} need the handler ${handler}, the script has ${has}`,
  );
}

/** How the compatibility flags of a function let its cron triggers number weekdays. */
export function weekdaysBy(flags: readonly string[]): WeekdayNumbers {
  return flags.includes(SUNDAY_IS_1_FLAG) ? 'sunday-is-1' : 'crontab';
}

/**
 * The schema of cron expressions does not know the flags.
 *
 * @throws EdgeError EDGE_CONFIG_INVALID for weekdays that the flags do not allow
 */
export function checkWeekdays(
  act: string,
  crons: readonly { readonly cron: string }[],
  flags: readonly string[],
): void {
  const weekdays = weekdaysBy(flags);
  if (weekdays === 'crontab') return;
  for (const { cron } of crons) {
    try {
      new CronExpression(cron, weekdays);
    } catch (error) {
      const why = error instanceof Error ? error.message : '';
      throw new EdgeError(
        'EDGE_CONFIG_INVALID',
        `Cannot ${act} with the compatibility flag ${SUNDAY_IS_1_FLAG}: ${why}`,
        { cause: error },
      );
    }
  }
}
