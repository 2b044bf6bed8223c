/** Records calls in the application, which has the tracer: it is asked for the headers of each call, and told of its end. */

import type { Channel } from '../../../protocol/channel.js';
import { messageOf } from '../../../quotas/errors.js';
import type { CallTrace, CallTracer, TracedCall } from '../../calls/call-trace.js';
import { forward } from '../../wire/forwarded-call.js';
import { BackendOpens, BackendSignal } from '../../wire/messages.js';

export class RemoteTrace implements CallTracer {
  readonly #channel: Channel;
  readonly #connection: number;
  readonly #invocation: number;

  constructor(channel: Channel, connection: number, invocation: number) {
    this.#channel = channel;
    this.#connection = connection;
    this.#invocation = invocation;
  }

  async beginCall(call: TracedCall): Promise<CallTrace> {
    const head = `${this.#connection}\n${this.#invocation}\n${JSON.stringify(call)}`;
    const answer = await forward(this.#channel, BackendOpens.TraceBegins, head, null);
    const { span, headers }: { span: number; headers: string[] } = JSON.parse(answer.head); // written by the application
    return {
      headers,
      end: (error, reply) => {
        const failure = error === undefined ? null : messageOf(error);
        const payload = JSON.stringify({ span, failure, status: statusOf(reply) });
        this.#channel.signal(0, BackendSignal.TraceEnds, payload);
      },
    };
  }
}

function statusOf(answer: unknown): number | null {
  if (typeof answer !== 'object' || answer === null || !('status' in answer)) return null;
  return typeof answer.status === 'number' ? answer.status : null;
}
