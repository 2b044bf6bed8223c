/** Begins the invocation of a function that is called by another one, or by the application. */

import { PIECE_BYTES } from '../../bindings/bodies/in-pieces.js';
import type { CallChain, Cancellation, FetchChain, ServiceBody } from '../../bindings/service.js';
import { asBuffer } from '../../protocol/frames/buffer-views.js';
import { HostOpens } from '../../protocol/messages.js';
import { BodyCounter } from '../../quotas/requests/request-checks.js';
import type { ToolTotals } from '../../usage/function-usage.js';
import { ReadBody } from '../ingress/read-body.js';
import { RequestBody } from '../ingress/request-body.js';
import type { InvocationTarget } from '../invocation/function-runner.js';
import { Invocation } from '../invocation/invocation.js';
import type { InvocationContext } from '../invocation/invocation-context.js';
import type { InvocationStart } from '../invocation/invocation-start.js';
import type { Peer } from '../invocation/peers.js';
import { type CalleeAnswer, CallSink } from './call-sink.js';

/** Messages are no body, and have no end that a limit could know. */
const NO_COUNTER = { bytes: 0, add: () => {}, end: () => {} };

/** A class, for the reason that `FetchStart` is one. Its body is the body of the call, once that begins. */
export class StartOfCall implements InvocationStart {
  readonly kind: HostOpens.Fetch | HostOpens.Rpc | HostOpens.Run;
  readonly isUtf8: boolean;
  head = '';
  body: Uint8Array | null = null;
  isComplete = false;
  isUpgrade: InvocationStart['isUpgrade'];
  props: InvocationStart['props'];
  chain: FetchChain | undefined;
  calls: CallChain | undefined;
  headFor: InvocationStart['headFor'];
  path: readonly string[] | undefined;
  ownedBy: Peer | undefined;

  constructor(kind: HostOpens.Fetch | HostOpens.Rpc | HostOpens.Run) {
    this.kind = kind;
    // Heads of requests are Latin-1.
    this.isUtf8 = kind !== HostOpens.Fetch;
  }

  static fetch(head: string, calls: CallChain | undefined, chain: FetchChain | undefined): StartOfCall {
    const start = new StartOfCall(HostOpens.Fetch);
    start.head = head;
    start.calls = calls;
    start.chain = chain;
    return start;
  }

  /** @param headFor makes the head when it is known where it goes */
  static method(path: readonly string[], headFor: InvocationStart['headFor']): StartOfCall {
    const start = new StartOfCall(HostOpens.Rpc);
    start.path = path;
    start.headFor = headFor;
    return start;
  }
}

/** Apart from other calls, which need no place for the totals. */
export class StartOfRun extends StartOfCall {
  readonly run: ToolTotals;

  /**
   * @param head JSON of BodyForm
   * @param run grows while it runs
   */
  constructor(head: string, run: ToolTotals) {
    super(HostOpens.Run);
    this.head = head;
    this.run = run;
  }
}

/** Runs in an isolate of the function, which is started when it has no isolate. */
export function run(
  runner: InvocationTarget,
  start: StartOfCall,
  body: ServiceBody | null,
  signal: Cancellation | undefined,
): Promise<CalleeAnswer> {
  return begin(
    body,
    signal,
    start,
    runner.context,
    (start, sink) => runner.runNow(start, sink) ?? runner.run(start, sink),
  );
}

/** In the isolate that has the object. */
export function runIn(
  owner: Peer,
  start: StartOfCall,
  body: ServiceBody | null,
  signal: Cancellation | undefined,
): Promise<CalleeAnswer> {
  return begin(body, signal, start, owner.context, (start, sink) => {
    owner.context.share.checkInvocation();
    owner.called++;
    return new Invocation(owner.context, owner.isolate, start, sink);
  });
}

function begin(
  body: ServiceBody | null,
  signal: Cancellation | undefined,
  start: StartOfCall,
  { limits }: InvocationContext,
  startWith: (start: StartOfCall, sink: CallSink) => Invocation | Promise<Invocation>,
): Promise<CalleeAnswer> {
  return new Promise((resolve, reject) => {
    const sink = new CallSink(signal, resolve, reject);
    const started = (invocation: Invocation): void => {
      sink.started(invocation);
      if (long !== undefined) {
        invocation.source = new ReadBody(long, invocation);
        invocation.source.resume();
      }
      if (stream === undefined) return;
      invocation.source = new RequestBody(
        stream,
        invocation,
        start.isUpgrade === true ? NO_COUNTER : new BodyCounter(limits),
        error => sink.refused(error),
      );
    };
    const isStream = body !== null && !(body instanceof Uint8Array);
    const stream = isStream ? ReadableStream.from<Uint8Array>(body) : undefined;
    // A long one is the application's, and is sent as the function reads it.
    const long = !isStream && body !== null && body.length > PIECE_BYTES ? asBuffer(body) : undefined;
    start.body = isStream || long !== undefined ? null : body;
    start.isComplete = !isStream && long === undefined;
    const invocation = startWith(start, sink);
    if (invocation instanceof Invocation) started(invocation);
    else invocation.then(started, (error: unknown) => sink.refused(error));
  });
}
