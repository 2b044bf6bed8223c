import { Cron } from 'croner';

/** Five fields, in UTC. @throws TypeError that quotes the expression and says what is wrong with it */
export function checkCron(expression: string): string {
  if (expression.trim().split(/\s+/).length !== 5) {
    throw new TypeError(
      `The cron trigger "${expression}" does not have five fields: minute, hour, day of month, month, day of week`,
    );
  }
  try {
    new Cron(expression, { paused: true, timezone: 'UTC' }).stop();
  } catch (error) {
    throw new TypeError(
      `The cron trigger "${expression}" is not valid: ${error instanceof Error ? error.message : ''}`,
      { cause: error },
    );
  }
  return expression;
}
