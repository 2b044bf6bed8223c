/**
 * Runs an invocation without a client. Batches of a queue resolve with the text that the isolate answers when the handler has ended: their messages wait for
 * it. Alarms resolve when what waitUntil was given is over as well, and reject when a limit ends it.
 */
import type { FetchChain } from '../../bindings/service.js';
import { HostOpens } from '../../protocol/messages.js';
import type { InvocationTarget } from './function-runner.js';
import type { ResponseSink } from './response-sink.js';

export interface RunToEndOptions {
  readonly chain?: FetchChain | undefined;
  /** Function code has said what becomes of a message: see ResponseSink. */
  readonly onQueueWord?: (word: number, index: number, delaySeconds: number) => void;
}

export async function runToEnd(
  runner: InvocationTarget,
  kind: HostOpens.Queue | HostOpens.Alarm | HostOpens.Tail,
  head: string,
  { chain, onQueueWord }: RunToEndOptions = {},
): Promise<string> {
  return new Promise<string>((resolve, reject) => {
    let answer = '';
    const sink: ResponseSink = {
      respond: (_status, _head, body, isComplete, exchange) => {
        // Their answers are short and arrive whole; our own guest code never sends a stream here.
        if (!isComplete) exchange.stopReading('It is not read');
        if (isComplete) answer = body.toString('utf8');
        if (kind === HostOpens.Queue) resolve(answer);
      },
      bodyReady: () => {},
      ...(onQueueWord !== undefined && { queueWord: onQueueWord }),
      fail: reject,
      ended: error => (error === undefined ? resolve(answer) : reject(error)),
    };
    runner.run({ kind, head, isUtf8: true, body: null, isComplete: true, chain }, sink).catch(reject);
  });
}
