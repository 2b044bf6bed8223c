/** Runs an invocation without a client, scheduled or of a queue, to its end. */
import type { HostOpens } from '../isolate/protocol/messages.js';
import type { FunctionRunner } from './function-runner.js';
import type { ResponseSink } from './invocation.js';

export async function runToEnd(
  runner: FunctionRunner,
  kind: HostOpens.Scheduled | HostOpens.Queue,
  head: string,
): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const sink: ResponseSink = {
      respond: (_status, _head, _body, isComplete, exchange) => {
        if (!isComplete) exchange.stopReading('Nobody reads it');
        resolve();
      },
      bodyReady: () => {},
      fail: reject,
    };
    runner.run({ kind, head, isUtf8: true, body: null, isComplete: true }, sink).catch(reject);
  });
}
