/**
 * Runs an invocation without a client. Those of a queue resolve with what the isolate answers when the handler has, as text: their messages wait for it.
 * Scheduled ones and alarms resolve when what waitUntil was given is over as well, and reject when a limit ends it.
 */
import { HostOpens } from '../../protocol/messages.js';
import type { FunctionRunner } from './function-runner.js';
import type { ResponseSink } from './response-sink.js';

export async function runToEnd(
  runner: FunctionRunner,
  kind: HostOpens.Scheduled | HostOpens.Queue | HostOpens.Alarm,
  head: string,
): Promise<string> {
  return new Promise<string>((resolve, reject) => {
    let answer = '';
    const sink: ResponseSink = {
      respond: (_status, _head, body, isComplete, exchange) => {
        // What these answer is short and comes whole; a stream is not what our own guest code sends.
        if (!isComplete) exchange.stopReading('It is not read');
        if (isComplete) answer = body.toString('utf8');
        if (kind === HostOpens.Queue) resolve(answer);
      },
      bodyReady: () => {},
      fail: reject,
      ended: error => (error === undefined ? resolve(answer) : reject(error)),
    };
    runner.run({ kind, head, isUtf8: true, body: null, isComplete: true }, sink).catch(reject);
  });
}
