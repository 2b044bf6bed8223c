/** Runs an invocation without a client, scheduled, of a queue or of an alarm, to its end. Answers what the isolate answers, as text. */
import type { HostOpens } from '../../protocol/messages.js';
import type { FunctionRunner } from './function-runner.js';
import type { ResponseSink } from './response-sink.js';

export async function runToEnd(
  runner: FunctionRunner,
  kind: HostOpens.Scheduled | HostOpens.Queue | HostOpens.Alarm,
  head: string,
): Promise<string> {
  return new Promise<string>((resolve, reject) => {
    const sink: ResponseSink = {
      respond: (_status, _head, body, isComplete, exchange) => {
        // What these answer is short and comes whole; a stream is not what our own guest code sends.
        if (!isComplete) exchange.stopReading('Nobody reads it');
        resolve(isComplete ? body.toString('utf8') : '');
      },
      bodyReady: () => {},
      fail: reject,
    };
    runner.run({ kind, head, isUtf8: true, body: null, isComplete: true }, sink).catch(reject);
  });
}
