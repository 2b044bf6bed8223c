/** Cron triggers: checked when a function is loaded, run while it serves. */
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

/** Calls `run` at each time of each expression until it is stopped. Keeps no process alive. */
export class CronTriggers {
  readonly #jobs: readonly Cron[];

  constructor(expressions: readonly string[], run: (cron: string, scheduledTime: Date) => Promise<void>) {
    this.#jobs = expressions.map(
      expression =>
        new Cron(expression, { timezone: 'UTC', unref: true, catch: true }, async job => {
          await run(expression, job.currentRun() ?? new Date());
        }),
    );
  }

  get count(): number {
    return this.#jobs.length;
  }

  stop(): void {
    for (const job of this.#jobs) job.stop();
  }
}
