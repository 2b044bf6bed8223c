/**
 * Calls of functions by functions of the same host: requests, methods of entrypoints, and objects that were passed by reference. The function called has
 * limits, quotas and an invocation of its own, which is cancelled with the caller's.
 */
import { cancelBody } from '../../bindings/cancel-body.js';
import {
  CALL,
  type CallAnswer,
  FETCH,
  type ReceivedAnswer,
  type ReceivedCall,
  type SentReference,
} from '../../bindings/function/calls.js';
import type { ServiceTarget } from '../../bindings/function/types.js';
import type { CallChain, ServiceBody, ServiceCall, ServiceReply } from '../../bindings/service.js';
import { checkedRecords } from '../../bindings/websocket/checked-records.js';
import { EdgeError } from '../../quotas/errors.js';
import { describe } from '../../quotas/schema/describe.js';
import type { FunctionRunner, InvocationTarget } from '../invocation/function-runner.js';
import type { OpenResult } from '../invocation/open-results.js';
import type { Peer, SharedObject } from '../invocation/peers.js';
import { checkAnswer, checkCall, checkSize } from './call-heads.js';
import { type CalleeAnswer, thrownBy } from './call-sink.js';
import { type CallingOrigin, isCalling } from './calling-origin.js';
import { run, runIn, StartOfCall } from './run-call.js';
import { isUpgradeHead, serviceFetch } from './service-fetch.js';

/** Invocations that may begin with one event by calls of functions, that of the event included. */
const MAX_INVOCATIONS = 32;

const NO_PROPS = Object.freeze({});

/** Finds the function that an account may call. @throws EdgeError EDGE_FUNCTION_UNLOADED */
export type FindCallee = (caller: string, target: ServiceTarget) => FunctionRunner;

/** How calls differ by what is called. */
export interface CallRules {
  /** The head of the reply that a call has failed with; undefined for an error that is the host's. */
  failed(error: unknown): { readonly e: readonly [name: string, message: string] } | undefined;
  /** @throws EdgeError EDGE_LOOP */
  next(calls: CallChain): CallChain;
}

const FUNCTION_RULES: CallRules = {
  failed: error => {
    const e = thrownBy(error);
    return e && { e };
  },
  next: nextOf,
};

export function functionCalls(
  account: string,
  find: FindCallee,
): (target: ServiceTarget | undefined, call: ServiceCall) => Promise<ServiceReply> {
  return async (target, call) => {
    const { origin, method } = call;
    if (!isCalling(origin)) throw new TypeError('The call belongs to no invocation');
    if (method === FETCH && target !== undefined) return fetchFrom(find(account, target), target, call, origin);
    if (method !== CALL) {
      throw new EdgeError('EDGE_NOT_SUPPORTED', `Service bindings have no method ${describe(method)}`);
    }
    return callMethod(target === undefined ? undefined : find(account, target), target, call, origin);
  };
}

/** @throws what the function has thrown, by name and message, in the head of the reply */
export async function fetchFrom(
  runner: InvocationTarget,
  { entrypoint = '', props }: Pick<ServiceTarget, 'entrypoint' | 'props'>,
  call: ServiceCall,
  origin: CallingOrigin,
  { failed, next }: CallRules = FUNCTION_RULES,
): Promise<ServiceReply> {
  const { limits } = runner.context;
  const calls = next(origin.calls);
  // Heads are Latin-1.
  const lead = `${entrypoint}${props === undefined ? '{}' : latin1(JSON.stringify(props))}`;
  try {
    return await serviceFetch(call, lead, limits, (head, body) => {
      const isUpgrade = isUpgradeHead(call.args) && body !== null && !(body instanceof Uint8Array);
      const start = StartOfCall.fetch(head, calls, origin.chain);
      start.props = props ?? NO_PROPS;
      if (!isUpgrade) return run(runner, start, body, call.cancellation ?? call.signal);
      start.isUpgrade = true;
      return socketWith(runner, start, body, call.signal);
    });
  } catch (error) {
    const head = failed(error);
    if (head === undefined) throw error;
    return { head };
  }
}

/** Messages are those of another isolate, in both directions. */
async function socketWith(
  runner: InvocationTarget,
  start: StartOfCall,
  sent: ServiceBody,
  signal: AbortSignal,
): Promise<CalleeAnswer> {
  const { webSocketMessageBytes } = runner.context.limits;
  const answer = await run(runner, start, checkedRecords(sent, webSocketMessageBytes), signal);
  const { status, body } = answer;
  return status === 101 && body !== null ? { ...answer, body: checkedRecords(body, webSocketMessageBytes) } : answer;
}

export async function callMethod(
  runner: InvocationTarget | undefined,
  target: Pick<ServiceTarget, 'entrypoint' | 'props'> | undefined,
  call: ServiceCall,
  origin: CallingOrigin,
  { failed, next }: CallRules = FUNCTION_RULES,
): Promise<ServiceReply> {
  const args = checkCall(call.args);
  checkSize(call.body, 'call');
  const caller = origin.peer;
  const sent = objectsOf(caller, args.f);
  const { i: stub, q: before, n: number, f: _references, ...rest } = args;
  const object = stub === undefined ? undefined : caller.find(stub);
  const isOnward = object !== undefined || before !== undefined;
  if (isOnward === (runner !== undefined)) throw new TypeError('The call is malformed');
  if (object?.owner.isOver === true) throw new TypeError('The stub is no longer valid: its function is done');
  // Found before its own is opened: a call cannot wait for itself.
  const earlier = before === undefined ? undefined : caller.results.find(before);
  const result = number === undefined ? undefined : caller.results.open(number);
  let callee: Peer | undefined;
  let received: number[] = [];
  let body: ServiceBody | null = null;
  /** The callee is known when its invocation begins, and its stubs are numbers in its isolate. */
  const headOf =
    (owned: Pick<ReceivedCall, 'x' | 'y'>) =>
    (peer: Peer): string => {
      callee = peer;
      received = sent.map(each => peer.receive(each));
      const shape: ReceivedCall = {
        ...rest,
        ...owned,
        ...(target?.entrypoint !== undefined && { e: target.entrypoint }),
        props: target?.props === undefined ? '{}' : JSON.stringify(target.props),
        ...(received.length > 0 && { f: received }),
      };
      result?.begun(peer);
      return JSON.stringify(shape);
    };
  const signal = call.cancellation ?? call.signal;
  try {
    let ran: CalleeAnswer;
    if (runner !== undefined) {
      const start = StartOfCall.method(args.p, headOf({}));
      start.chain = origin.chain;
      start.calls = next(origin.calls);
      ran = await run(runner, start, call.body, signal);
    } else {
      const calls = deeper(origin.calls);
      const owner = object === undefined ? await calleeOf(earlier, call) : object.owner;
      if (owner === undefined) {
        cancelBody(call.body);
        return atCaller(result, sent);
      }
      const start = StartOfCall.method(args.p, headOf(object === undefined ? { y: owner.id } : { x: object.id }));
      start.chain = origin.chain;
      start.calls = calls;
      start.ownedBy = owner;
      ran = await runIn(owner, start, call.body, signal);
    }
    body = ran.body;
    const answer = checkAnswer(ran.head);
    checkSize(body, 'answer');
    if (answer.l === true) {
      if (before === undefined) throw new TypeError('The answer is malformed');
      cancelBody(body);
      release(callee, received);
      return atCaller(result, sent);
    }
    // Before its own stubs end: it may answer with one of them.
    const objects = callee === undefined ? [] : objectsOf(callee, answer.f);
    const kept = new Set(answer.k ?? []);
    release(
      callee,
      received.filter(number => !kept.has(number)),
    );
    return replyOf(answer, body, caller, objects, sent, result);
  } catch (error) {
    result?.close();
    cancelBody(body);
    release(callee, received);
    forgetUnused(sent);
    const head = failed(error);
    if (head === undefined) throw error;
    return { head };
  }
}

/** What waits for it holds its body meanwhile. */
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

/** The result that was to be called is not here any more: the caller has it, or what the call has failed with, and goes on by itself. */
function atCaller(result: OpenResult<Peer> | undefined, sent: readonly SharedObject[]): ServiceReply {
  result?.close();
  forgetUnused(sent);
  const head: ReceivedAnswer = { l: true };
  return { head };
}

/** Stubs in the answer belong to the caller for as long as it reads the answer's body, which the callee keeps open for them. */
function replyOf(
  answer: CallAnswer,
  body: ServiceBody | null,
  caller: Peer,
  objects: readonly SharedObject[],
  sent: readonly SharedObject[],
  result: OpenResult<Peer> | undefined,
): ServiceReply {
  const { f: _references, k: _kept, ...form } = answer;
  const numbers = objects.map(object => caller.receive(object));
  const k = sent.filter(object => object.references > 0).map(object => object.id);
  forgetUnused(sent);
  const head: ReceivedAnswer = { ...form, ...(numbers.length > 0 && { f: numbers }), ...(k.length > 0 && { k }) };
  if (numbers.length === 0 || body === null || body instanceof Uint8Array) {
    result?.close();
    return { head, body };
  }
  const over = (): void => {
    release(caller, numbers);
    result?.close();
  };
  return { head, body: releasing(body, over) };
}

/** Objects that were sent, and to which nobody refers. */
function forgetUnused(objects: readonly SharedObject[]): void {
  for (const object of objects) if (object.references === 0) object.owner.forget(object);
}

function release(peer: Peer | undefined, numbers: readonly number[]): void {
  for (const number of numbers) peer?.release(number);
}

/** The same body; `onEnd` is called when it is over. */
function releasing(body: AsyncIterable<Uint8Array>, onEnd: () => void): AsyncIterable<Uint8Array> {
  const source = body[Symbol.asyncIterator]();
  const iterator: AsyncIterator<Uint8Array> = {
    async next() {
      try {
        const next = await source.next();
        if (next.done === true) onEnd();
        return next;
      } catch (error) {
        onEnd();
        throw error;
      }
    },
    async return() {
      onEnd();
      await source.return?.();
      return { done: true, value: undefined };
    },
  };
  return { [Symbol.asyncIterator]: () => iterator };
}

export function objectsOf(peer: Peer, references: readonly SentReference[] = []): SharedObject[] {
  return references.map(reference => ('x' in reference ? peer.share(reference.x) : peer.find(reference.i)));
}

function latin1(text: string): string {
  return text.replace(/[\u0080-\uffff]/g, character => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** @throws EdgeError EDGE_LOOP */
function nextOf({ depth, total }: CallChain): CallChain {
  if (total.count >= MAX_INVOCATIONS) {
    throw new EdgeError(
      'EDGE_LOOP',
      `Cannot call the function: calls of functions have begun ${total.count} invocations with one event, at most ${MAX_INVOCATIONS} are allowed`,
    );
  }
  total.count++;
  return { depth: depth + 1, total };
}

/** A call of an object begins no invocation of its own kind, but calls one inside the other are as many at most. @throws EdgeError EDGE_LOOP */
export function deeper({ depth, total }: CallChain): CallChain {
  if (depth < MAX_INVOCATIONS) return { depth: depth + 1, total };
  throw new EdgeError(
    'EDGE_LOOP',
    `Cannot call the stub: functions have called each other ${depth} times one inside the other, at most ${MAX_INVOCATIONS} are allowed`,
  );
}
