/**
 * One event on its way through the function: what keeps it open, and how it ends. This code runs for every request.
 *
 * Nothing that function code does may escape from here or disturb another invocation: captured intrinsics only.
 */
import { Ev, Op } from '../../isolate/ops/table.ts';
import { onEvent, op, opNumber } from '../bridge.ts';
import { describeFailure } from '../failure.ts';
import { dropExchange } from '../host-body.ts';
import { dropCall } from '../open-calls.ts';
import { MapCtor, mapDelete, mapGet, mapSet, stringSplit, TypeErrorCtor } from '../primordials.ts';
import { inspect } from '../web/console/inspect.ts';
import { clientGone, type RequestState } from '../web/fetch/request.ts';
import { abortSignal } from '../web/scheduling/abort.ts';
import { dropLink } from '../websockets/host-link.ts';
import type { GuestCallResult } from './call-result.ts';
import type { ContextOwner } from './execution-context.ts';

const LEVEL_ERROR = 4;

/** One event on its way through the function. */
export class GuestInvocation implements ContextOwner {
  readonly id: number;
  /** Tasks that keep it open: the handler itself, bodies that are being sent, promises given to waitUntil. */
  tasks = 1;
  /** The tasks that are promises given to waitUntil: they continue when the client is gone. */
  #held = 0;
  #isAbandoned = false;
  #isEnded = false;
  #awaitsPipe = false;
  request: RequestState | undefined = undefined;
  entrypoint: string | undefined = undefined;
  propsText: string | undefined = undefined;
  /** It has sent objects by reference (rpc/exports.ts). */
  hasExports = false;
  /** The request asks for a WebSocket, whose messages come in place of a body. */
  isUpgrade = false;
  /** For a call: the result that other calls may build on. */
  result: GuestCallResult | undefined = undefined;
  /** Called when the host has ended it. */
  onOver: (() => void) | undefined = undefined;

  constructor(id: number) {
    this.id = id;
    mapSet(invocations, id, this);
  }

  endTask(): void {
    if (--this.tasks === 0) this.#end();
  }

  /** The client is gone: what waitUntil does not hold is over. Listeners of the signal had the chance to hold something. */
  abandon(): void {
    this.#isAbandoned = true;
    if (this.#held === 0) this.#end();
    else notify(Op.Abandon, this.id);
  }

  /** The host sends a body that comes from elsewhere. The client can go meanwhile, which concerns the signal of the request where there is one. */
  awaitPipe(): void {
    if (this.request?.signal === undefined) return;
    this.#awaitsPipe = true;
    this.tasks++;
  }

  piped(): void {
    if (!this.#awaitsPipe) return;
    this.#awaitsPipe = false;
    this.endTask();
  }

  /** Its WebSocket has ended without a close. */
  socketLost(): void {
    this.abandon();
  }

  #release(): void {
    this.endTask();
    if (--this.#held > 0) return;
    this.released();
    if (this.#isAbandoned) this.#end();
  }

  /** Whether a promise of waitUntil has not settled yet. */
  protected get isHeld(): boolean {
    return this.#held > 0;
  }

  #end(): void {
    // The host may have ended it already.
    if (this.staysKnown ? this.#isEnded : !mapDelete(invocations, this.id)) return;
    this.#isEnded = true;
    this.ending();
    this.result?.end();
    if (this.hasExports) endExports(this.id, true);
    notify(Op.Done, this.id);
  }

  waitUntil(promise: unknown): void {
    if (this.tasks === 0) throw new TypeErrorCtor('waitUntil() was called after the end of its event');
    if (!notify(Op.Hold, this.id)) throw new TypeErrorCtor('waitUntil() was called after the client had disconnected');
    this.tasks++;
    this.#held++;
    observe(promise, this);
  }

  /** A promise of waitUntil has settled. */
  settled(): void {
    this.#release();
  }

  /** A promise of waitUntil was rejected, which is logged. */
  waitFailed(error: unknown): void {
    notify(Op.WaitRejected, this.id, describeFailure(error, 'EDGE_HANDLER_THREW'));
  }

  /** The handler has failed. */
  failed(failure: string): void {
    if (this.#isEnded) return;
    notify(Op.ReplyFailed, this.id, failure);
  }

  /** The function ends it, whatever is open. */
  exit(failure: string): void {
    notify(Op.Exit, this.id, failure);
    this.#end();
  }

  /** No promise of waitUntil is left that has not settled. */
  protected released(): void {}

  /** It is known until the host says that it is over. */
  protected get staysKnown(): boolean {
    return false;
  }

  /** The host has closed it. */
  closed(): void {}

  /** The host is about to learn that all of it is over. */
  protected ending(): void {}

  passThroughOnException(): void {
    notify(Op.PassThrough, this.id);
  }
}

const invocations = new MapCtor<number, GuestInvocation>();

let endExports: (invocation: number, mayRun: boolean) => void = () => {};

/** `mayRun`: whether code of the function may run for the invocation. */
export function onExportsEnd(listener: typeof endExports): void {
  endExports = listener;
}

/** The invocation of the turn, so of the code that runs now; undefined at the start of the function and when it is over. */
export function currentInvocation(): GuestInvocation | undefined {
  return mapGet(invocations, opNumber(Op.CurrentInvocation));
}

/** One that is not over. */
export function openInvocation(id: number): GuestInvocation | undefined {
  return mapGet(invocations, id);
}

/** For ops whose failure means that the host has closed the invocation: there is no one left to notify. */
export function notify(number: Op, a: number, b?: string | number, c?: string, d?: string | Uint8Array): boolean {
  try {
    op(number, a, b, c, d);
    return true;
  } catch {
    return false;
  }
}

/** A promise of waitUntil: its rejection is logged, and fails the event of a cron trigger, and a batch of messages. */
async function observe(promise: unknown, invocation: GuestInvocation): Promise<void> {
  try {
    await promise;
  } catch (error) {
    logUncaught('waitUntil', error);
    invocation.waitFailed(error);
  }
  invocation.settled();
}

function logUncaught(where: string, error: unknown): void {
  let text: string;
  try {
    text = inspect(error);
  } catch {
    text = 'an error that cannot be described';
  }
  try {
    op(Op.Log, LEVEL_ERROR, `Uncaught (in ${where}) ${text}`);
  } catch {
    // There is no one left to notify.
  }
}

onEvent(Ev.ClientGone, (id: number) => {
  const request = mapGet(invocations, id)?.request;
  if (request === undefined) return;
  request.isClientGone = true;
  if (request.signal !== undefined) abortSignal(request.signal, clientGone());
});

onEvent(Ev.Abort, (id: number) => mapGet(invocations, id)?.abandon());

onEvent(Ev.Piped, (id: number) => mapGet(invocations, id)?.piped());

// None of the function's code runs for an invocation that is over, so promises that wait for it are not settled.
onEvent(Ev.Over, (id: number, exchanges: string) => {
  const invocation = mapGet(invocations, id);
  if (invocation?.hasExports === true) endExports(id, false);
  mapDelete(invocations, id);
  invocation?.result?.end();
  invocation?.closed();
  const ids = stringSplit(exchanges, ',');
  for (let i = 0; i < ids.length; i++) {
    const exchange = +(ids[i] ?? 0);
    dropExchange(exchange);
    dropLink(exchange);
    dropCall(exchange);
  }
  invocation?.onOver?.();
});
