/** Cron triggers, run while a function serves. */
import { Cron } from 'croner';

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
