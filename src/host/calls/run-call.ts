/** Begins the invocation of a function that is called by another one, or by the application. */
import type { ServiceBody } from '../../bindings/service.js';
import { BodyCounter } from '../../quotas/request-checks.js';
import { RequestBody } from '../ingress/request-body.js';
import type { InvocationTarget } from '../invocation/function-runner.js';
import { Invocation } from '../invocation/invocation.js';
import type { InvocationContext } from '../invocation/invocation-context.js';
import type { InvocationStart } from '../invocation/invocation-start.js';
import type { Peer } from '../invocation/peers.js';
import { type CalleeAnswer, CallSink } from './call-sink.js';

/** Messages are no body, and have no end that a limit could know. */
const NO_COUNTER = { bytes: 0, add: () => {} };

export type StartOfCall = Omit<InvocationStart, 'body' | 'isComplete'>;

/** In an isolate of the function, which is started when there is none. */
export function run(
  runner: InvocationTarget,
  start: StartOfCall,
  body: ServiceBody | null,
  signal: AbortSignal | undefined,
): Promise<CalleeAnswer> {
  return begin(body, signal, start.isUpgrade === true, runner.context, (whole, isComplete, sink) => {
    const complete = { ...start, body: whole, isComplete };
    return runner.runNow(complete, sink) ?? runner.run(complete, sink);
  });
}

/** In the isolate that has the object. */
export function runIn(
  owner: Peer,
  start: StartOfCall,
  body: ServiceBody | null,
  signal: AbortSignal | undefined,
): Promise<CalleeAnswer> {
  return begin(body, signal, false, owner.context, (whole, isComplete, sink) => {
    owner.context.share.checkInvocation();
    owner.called++;
    return new Invocation(owner.context, owner.isolate, { ...start, body: whole, isComplete }, sink);
  });
}

function begin(
  body: ServiceBody | null,
  signal: AbortSignal | undefined,
  isUpgrade: boolean,
  { limits }: InvocationContext,
  startWith: (whole: Uint8Array | null, isComplete: boolean, sink: CallSink) => Invocation | Promise<Invocation>,
): Promise<CalleeAnswer> {
  return new Promise((resolve, reject) => {
    const sink = new CallSink(signal, resolve, reject);
    const started = (invocation: Invocation): void => {
      sink.started(invocation);
      if (stream === undefined) return;
      invocation.source = new RequestBody(stream, invocation, isUpgrade ? NO_COUNTER : new BodyCounter(limits), error =>
        sink.refused(error),
      );
    };
    const isStream = body !== null && !(body instanceof Uint8Array);
    const stream = isStream ? ReadableStream.from<Uint8Array>(body) : undefined;
    const invocation = startWith(isStream ? null : body, !isStream, sink);
    if (invocation instanceof Invocation) started(invocation);
    else invocation.then(started, (error: unknown) => sink.refused(error));
  });
}
