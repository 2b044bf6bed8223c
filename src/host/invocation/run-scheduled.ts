/** Runs the scheduled handler of a function to its end, waitUntil included. */
import { HostOpens } from '../../protocol/messages.js';
import type { EdgeError } from '../../quotas/errors.js';
import type { FunctionRunner } from './function-runner.js';
import type { ResponseSink } from './response-sink.js';

export interface ScheduledRun {
  /** The error of the handler, of a promise given to waitUntil, or of the limit that ended it; undefined after a success. */
  readonly error: Error | undefined;
  /** The handler called noRetry(). */
  readonly noRetry: boolean;
}

/** Never rejects. */
export function runScheduled(runner: FunctionRunner, cron: string, scheduledTimeMs: number): Promise<ScheduledRun> {
  return new Promise(resolve => {
    let failure: EdgeError | undefined;
    const sink: ResponseSink = {
      // It answers that it has ended, and with nothing else: a stream is not what our own guest code sends.
      respond: (_status, _head, _body, isComplete, exchange) => {
        if (!isComplete) exchange.stopReading('It is not read');
      },
      bodyReady: () => {},
      fail: error => {
        failure ??= error;
      },
      ended: (error, noRetry) => resolve({ error: failure ?? error, noRetry }),
    };
    const start = {
      kind: HostOpens.Scheduled,
      head: `${scheduledTimeMs}\n${cron}`,
      isUtf8: true,
      body: null,
      isComplete: true,
    } as const;
    runner.run(start, sink).catch((error: unknown) => {
      resolve({ error: error instanceof Error ? error : new Error(String(error)), noRetry: false });
    });
  });
}
