/** One call of a method by a function: of an entrypoint, of an object that was passed by reference, or of a result that is not there yet. */
import { cancelBody } from '../../bindings/bodies/cancel-body.js';
import { withEnd } from '../../bindings/bodies/with-end.js';
import type { ServiceTarget } from '../../bindings/function/types.js';
import type { CallAnswer, MethodCallArguments, ReceivedAnswer, ReceivedCall } from '../../bindings/function/wire.js';
import type { CallChain, ServiceBody, ServiceCall, ServiceReply } from '../../bindings/service.js';
import type { InvocationTarget } from '../invocation/function-runner.js';
import type { OpenResult } from '../invocation/open-results.js';
import type { Peer, SharedObject } from '../invocation/peers.js';
import { checkAnswer, checkCall, checkSize } from './call-heads.js';
import { type CallRules, deeper, FUNCTION_RULES } from './call-rules.js';
import type { CalleeAnswer } from './call-sink.js';
import type { CallingOrigin } from './calling-origin.js';
import { forgetUnused, passedObjects, release } from './passed-objects.js';
import { run, runIn, StartOfCall } from './run-call.js';

/** Where the entrypoint is that is called. */
export type EntrypointTarget = Pick<ServiceTarget, 'entrypoint' | 'props'>;

/** @param runner undefined: a stub or a result is called */
export async function callMethod(
  runner: InvocationTarget | undefined,
  target: EntrypointTarget | undefined,
  call: ServiceCall,
  origin: CallingOrigin,
  rules: CallRules = FUNCTION_RULES,
): Promise<ServiceReply> {
  const method = new MethodCall(runner, target, call, origin);
  try {
    return await method.answer(rules);
  } catch (error) {
    method.abandon();
    const head = rules.failed(error);
    if (head === undefined) throw error;
    return { head };
  }
}

/** A shape with every property: V8 makes and writes it five times as fast as one that is put together by spreading, and JSON leaves undefined values out. */
type Whole<Head> = { readonly [Key in keyof Head]-?: Head[Key] | undefined };

/** The objects and bodies that the call has opened on both sides. */
class MethodCall {
  readonly #runner: InvocationTarget | undefined;
  readonly #target: EntrypointTarget | undefined;
  readonly #call: ServiceCall;
  readonly #origin: CallingOrigin;
  readonly #args: MethodCallArguments;
  readonly #sent: readonly SharedObject[];
  /** The object that is called. */
  readonly #object: SharedObject | undefined;
  /** The result that is called. */
  readonly #earlier: OpenResult<Peer> | undefined;
  /** Later calls continue by this result. */
  readonly #result: OpenResult<Peer> | undefined;
  /** Known when its invocation begins, as its stubs are numbers in its isolate. */
  #callee: Peer | undefined;
  #received: readonly number[] = [];
  /** The body of the answer. */
  #body: ServiceBody | null = null;

  /** @throws TypeError for a call that no client of ours sends, RangeError for one that is too large */
  constructor(
    runner: InvocationTarget | undefined,
    target: EntrypointTarget | undefined,
    call: ServiceCall,
    origin: CallingOrigin,
  ) {
    const args = checkCall(call.args);
    checkSize(call.body, 'call');
    const caller = origin.peer;
    this.#runner = runner;
    this.#target = target;
    this.#call = call;
    this.#origin = origin;
    this.#args = args;
    this.#sent = passedObjects(caller, args.f);
    this.#object = args.i === undefined ? undefined : caller.find(args.i);
    const isOnward = args.i !== undefined || args.q !== undefined;
    if (isOnward === (runner !== undefined)) throw new TypeError('The call is malformed');
    if (this.#object?.owner.isOver === true) throw new TypeError('The stub is no longer valid: its function is done');
    // Found before its own is opened: a call cannot wait for itself.
    this.#earlier = args.q === undefined ? undefined : caller.results.find(args.q);
    this.#result = args.n === undefined ? undefined : caller.results.open(args.n);
  }

  async answer(rules: CallRules): Promise<ServiceReply> {
    const ran = await this.#run(rules);
    if (ran === undefined) {
      cancelBody(this.#call.body);
      return this.#atCaller();
    }
    this.#body = ran.body;
    const answer = checkAnswer(ran.head);
    checkSize(ran.body, 'answer');
    if (answer.l === true) {
      if (this.#args.q === undefined) throw new TypeError('The answer is malformed');
      cancelBody(ran.body);
      release(this.#callee, this.#received);
      return this.#atCaller();
    }
    return this.#reply(answer, ran.body);
  }

  /** It has failed. */
  abandon(): void {
    this.#result?.close();
    cancelBody(this.#body);
    release(this.#callee, this.#received);
    forgetUnused(this.#sent);
  }

  /** Undefined: the result that was to be called is not here any more. */
  async #run({ next }: CallRules): Promise<CalleeAnswer | undefined> {
    const { body } = this.#call;
    const signal = this.#call.cancellation ?? this.#call.signal;
    if (this.#runner !== undefined) return run(this.#runner, this.#start({}, next(this.#origin.calls)), body, signal);
    const calls = deeper(this.#origin.calls);
    const object = this.#object;
    const owner = object === undefined ? await calleeOf(this.#earlier, this.#call) : object.owner;
    if (owner === undefined) return undefined;
    const start = this.#start(object === undefined ? { y: owner.id } : { x: object.id }, calls);
    start.ownedBy = owner;
    return runIn(owner, start, body, signal);
  }

  #start(owned: Pick<ReceivedCall, 'x' | 'y'>, calls: CallChain): StartOfCall {
    const start = StartOfCall.method(this.#args.p, peer => this.#headFor(peer, owned));
    start.chain = this.#origin.chain;
    start.calls = calls;
    return start;
  }

  #headFor(callee: Peer, { x, y }: Pick<ReceivedCall, 'x' | 'y'>): string {
    this.#callee = callee;
    const sent = this.#sent;
    const f = sent.length === 0 ? undefined : sent.map(object => callee.receive(object));
    if (f !== undefined) this.#received = f;
    const { p, g, b, s } = this.#args;
    const { entrypoint: e, props: given } = this.#target ?? {};
    const props = given === undefined ? '{}' : JSON.stringify(given);
    const head: Whole<ReceivedCall> = { x, y, p, g, b, s, e, props, f };
    this.#result?.begun(callee);
    return JSON.stringify(head);
  }

  /** Stubs in the answer belong to the caller for as long as it reads the answer's body, which the callee keeps open for them. */
  #reply({ b, s, f: shared, k: kept }: CallAnswer, body: ServiceBody | null): ServiceReply {
    const caller = this.#origin.peer;
    // Before its own stubs end: it may answer with one of them.
    const objects = passedObjects(this.#callee, shared);
    const inUse = kept === undefined ? undefined : new Set(kept);
    release(this.#callee, inUse === undefined ? this.#received : this.#received.filter(number => !inUse.has(number)));
    const numbers = objects.map(object => caller.receive(object));
    const used = this.#sent.filter(object => object.references > 0).map(object => object.id);
    forgetUnused(this.#sent);
    const f = numbers.length === 0 ? undefined : numbers;
    const head: Whole<Exclude<ReceivedAnswer, { e: unknown } | { l: unknown }>> = {
      b,
      s,
      f,
      k: used.length === 0 ? undefined : used,
    };
    if (f === undefined || body === null || body instanceof Uint8Array) {
      this.#result?.close();
      return { head, body };
    }
    const over = (): void => {
      release(caller, f);
      this.#result?.close();
    };
    return { head, body: withEnd(body, over) };
  }

  /** The host no longer has the result to call on: the caller has it, or the error of the call, and continues by itself. */
  #atCaller(): ServiceReply {
    this.#result?.close();
    forgetUnused(this.#sent);
    const head: ReceivedAnswer = { l: true };
    return { head };
  }
}

/** A call that waits for it holds its body meanwhile. */
async function calleeOf(earlier: OpenResult<Peer> | undefined, { body, work }: ServiceCall): Promise<Peer | undefined> {
  const callee = earlier?.callee();
  if (!(callee instanceof Promise)) return callee;
  const heldBytes = body instanceof Uint8Array ? body.byteLength : 0;
  work.countBytes(heldBytes);
  try {
    return await callee;
  } finally {
    work.countBytes(-heldBytes);
  }
}
