/** Calls of the application's functions: arguments are decoded, the function runs within its bounds, and what it answers is encoded. */
import { cutText } from '../../quotas/cut-text.js';
import { EdgeError } from '../../quotas/errors.js';
import { guarded } from '../../quotas/guarded.js';
import { type CallWork, measured } from '../../quotas/host/call-work.js';
import { describe, isObject } from '../../quotas/schema/describe.js';
import type { ClientBodies } from '../bodies/given-bodies.js';
import type { GivenBodySource } from '../bodies/given-body.js';
import { piecesOf } from '../bodies/in-pieces.js';
import type { Service, ServiceCall, ServiceReply } from '../service.js';
import { type CallBody, type CallStream, putTogether, takeApart } from './call-body.js';
import type { CallbackGate } from './callback-gate.js';
import { countedBytes, decodeInSlices } from './decode-in-slices.js';
import { encodeValue } from './encode.js';
import type { ApplicationCallback, ApplicationCallbacks, CallbackContext } from './types.js';
import { CALL, type CallbackCall, type CallbackReply, MAX_BYTES, MAX_SEQUENCES, MAX_VALUE_BYTES } from './wire.js';

/** The function that the calls come from, and their bounds. */
export interface CallbackOwner {
  readonly account: string;
  readonly function: string;
  /** The props of load(). */
  readonly props: Readonly<Record<string, unknown>>;
  readonly timeoutMs: number;
  /** How callbacks get streams. */
  readonly given: ClientBodies;
  /** Made when it is first needed, and let go when nothing of it is left. */
  gate(): CallbackGate;
  /** A call has left the gate. */
  left(gate: CallbackGate): void;
}

/** Names that a function may call: what every JavaScript file can write behind a dot. */
const NAME = /^[A-Za-z_$][A-Za-z0-9_$]{0,62}$/;
const MAX_NAME = 100;
const MAX_MESSAGE = 8192;

/**
 * The functions of a binding, as they are now: what the application changes of the object later does not count.
 *
 * @throws TypeError for what functions cannot call
 */
export function callbacksOf(given: ApplicationCallbacks): ReadonlyMap<string, ApplicationCallback> {
  const prototype: unknown = Object.getPrototypeOf(given);
  // By shape: the application may be in a realm of its own, as in some test runners.
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) {
    throw new TypeError(
      'The callbacks of option bindings are an instance of a class, expected a plain object of functions',
    );
  }
  const callbacks = new Map<string, ApplicationCallback>();
  for (const name of Object.keys(given)) {
    // An object with a method `then` is taken for a promise wherever it is awaited.
    if (!NAME.test(name) || name === 'then' || name === '__proto__') {
      throw new TypeError(
        `Option bindings has a callback named ${JSON.stringify(name.slice(0, MAX_NAME))}, expected a name of up to 63 letters, digits, "_" and "$", not "then" or "__proto__"`,
      );
    }
    const callback: unknown = given[name];
    if (!isCallback(callback)) {
      throw new TypeError(`The callback ${name} of option bindings is ${describe(callback)}, expected a function`);
    }
    callbacks.set(name, callback);
  }
  return callbacks;
}

function isCallback(value: unknown): value is ApplicationCallback {
  return typeof value === 'function';
}

export function callbackService(given: ApplicationCallbacks, owner: CallbackOwner): Service {
  const callbacks = callbacksOf(given);
  return answering(name => callbacks.get(name), given, owner);
}

/** @param receiver the `this` of the functions */
export function answering(
  find: (name: string) => ApplicationCallback | undefined,
  receiver: unknown,
  owner: CallbackOwner,
): Service {
  return async call => {
    const { method, args, body, work } = call;
    if (method !== CALL)
      throw new EdgeError('EDGE_NOT_SUPPORTED', `Callbacks have no method ${JSON.stringify(method)}`);
    const { f, v, b, s } = checkCall(args);
    const callback = find(f);
    if (callback === undefined)
      throw new TypeError(`The application has no callback ${JSON.stringify(f)} for the function`);
    const gate = owner.gate();
    gate.enter();
    const running = new RunningCall(gate, owner, work);
    running.hold(b.reduce((sum, length) => sum + length, 0));
    let parts: CallBody | undefined;
    try {
      parts = await takeApart(body, b, s ? source => give(owner.given, source) : 'nothing');
      await running.makeRoom(countedBytes(v, work), call.signal);
      const { value } = await decodeInSlices(v, parts, work);
      const context = contextOf(owner, call, running.signal);
      // `this` is the object that was given, so that its functions may call each other.
      const outcome = await running.wait(() => Reflect.apply(callback, receiver, [value, context]), call.signal, f);
      if (outcome.kind === 'threw') {
        parts.end();
        running.leave();
        return { head: { e: nameAndMessage(outcome.error) } satisfies CallbackReply };
      }
      return replyOf(outcome.value, f, running, parts, work);
    } catch (error) {
      parts?.end();
      running.leave();
      throw error;
    }
  };
}

function give({ bodies, of }: ClientBodies, source: GivenBodySource): CallStream {
  const { stream, body } = bodies.give(of, source);
  return { stream, fail: error => body.fail(error) };
}

function replyOf(value: unknown, name: string, running: RunningCall, parts: CallBody, work: CallWork): ServiceReply {
  const { json, bytes, stream } = measured(work, () => encodeValue(value, `The result of ${name}()`));
  const head = {
    v: json,
    b: bytes.map(({ byteLength }) => byteLength),
    s: stream !== undefined,
  } satisfies CallbackReply;
  // Before it is sent: the reply is serialized again as a whole, and has no bound of its own.
  const size = measured(work, () => JSON.stringify(json)?.length ?? 0);
  if (size > MAX_VALUE_BYTES) {
    throw new RangeError(
      `The result of ${name}() has ${size} characters as JSON, at most ${MAX_VALUE_BYTES} are passed: answer with bytes or a stream`,
    );
  }
  const end = (): void => {
    parts.end();
    running.leave();
  };
  // The call stays open as long as its stream does; the answer may be a stream over its argument.
  if (stream === undefined) end();
  const answer = putTogether(bytes, stream, end);
  return { head, body: answer instanceof Uint8Array ? piecesOf(answer) : answer };
}

type Outcome =
  | { readonly kind: 'value'; readonly value: unknown }
  | { readonly kind: 'threw'; readonly error: unknown };

/** A call that has passed the gate, until it leaves it once. */
class RunningCall {
  readonly #gate: CallbackGate;
  readonly #owner: CallbackOwner;
  readonly #work: CallWork;
  readonly #controller = new AbortController();
  #heldBytes = 0;
  /** The part of the held bytes that the arguments take. */
  #argumentBytes = 0;
  #isPending = false;
  #hasLeft = false;

  constructor(gate: CallbackGate, owner: CallbackOwner, work: CallWork) {
    this.#gate = gate;
    this.#owner = owner;
    this.#work = work;
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Counts bytes that the callback gets, until it has settled. */
  hold(bytes: number): void {
    this.#heldBytes += bytes;
    this.#work.countBytes(bytes);
  }

  /** Waits until the account may have so much of the heap, and takes it. @throws as `CallbackGate.takeBytes` does */
  async makeRoom(heapBytes: number, callerSignal: AbortSignal): Promise<void> {
    const taking = this.#gate.takeBytes(heapBytes, callerSignal);
    if (taking !== undefined) await taking;
    this.#argumentBytes += heapBytes;
    for (let room = this.#work.room?.(); room !== undefined; room = this.#work.room?.()) await room;
    this.hold(heapBytes);
  }

  /** @throws EdgeError EDGE_CALLBACK_TIMEOUT; the reason of the signal when the caller ends */
  wait(run: () => unknown, callerSignal: AbortSignal, name: string): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      const { timeoutMs } = this.#owner;
      const stop = (error: unknown): void => {
        clearTimeout(timer);
        callerSignal.removeEventListener('abort', onAbort);
        this.#controller.abort(error);
        reject(error);
      };
      const onAbort = guarded((): void => stop(callerSignal.reason));
      const timer = setTimeout(
        guarded(() => {
          const message = `The application did not answer ${name}() within ${timeoutMs} ms (option callbacks.timeoutMs of the host)`;
          stop(new EdgeError('EDGE_CALLBACK_TIMEOUT', message));
        }),
        timeoutMs,
      );
      callerSignal.addEventListener('abort', onAbort, { once: true });
      const settle = (outcome: Outcome): void => {
        this.#isPending = false;
        clearTimeout(timer);
        callerSignal.removeEventListener('abort', onAbort);
        if (this.#hasLeft) this.#settledLate();
        else resolve(outcome);
      };
      this.#isPending = true;
      // The executor may run after the signal has fired.
      if (callerSignal.aborted) {
        this.#isPending = false;
        onAbort();
        return;
      }
      runAsync(run).then(
        value => settle({ kind: 'value', value }),
        (error: unknown) => settle({ kind: 'threw', error }),
      );
    });
  }

  /** The caller has stopped waiting: the call is over, or it counts as abandoned until the application's function settles. */
  leave(): void {
    if (this.#hasLeft) return;
    this.#hasLeft = true;
    if (this.#isPending) this.#gate.abandon();
    else {
      this.#gate.leave();
      this.#giveBack();
    }
  }

  #settledLate(): void {
    this.#gate.settled();
    this.#giveBack();
  }

  #giveBack(): void {
    this.#work.countBytes(-this.#heldBytes);
    this.#heldBytes = 0;
    this.#gate.giveBytes(this.#argumentBytes);
    this.#argumentBytes = 0;
    this.#owner.left(this.#gate);
  }
}

/** A synchronous exception is treated like a rejection. */
async function runAsync(run: () => unknown): Promise<unknown> {
  return await run();
}

function contextOf(
  { account, function: name, props }: CallbackOwner,
  call: ServiceCall,
  signal: AbortSignal,
): CallbackContext {
  const { invocation = '', props: own } = call.origin ?? {};
  return { account, function: name, invocation, props: own ?? props, signal };
}

/** @throws TypeError for what no client of ours sends */
function checkCall(args: unknown): CallbackCall {
  if (isObject(args)) {
    const { f, v, b, s } = args;
    if (typeof f === 'string' && typeof s === 'boolean' && areLengths(b)) return { f, v, b, s };
  }
  throw new TypeError('The call is malformed');
}

function areLengths(value: unknown): value is readonly number[] {
  if (!Array.isArray(value) || value.length > MAX_SEQUENCES) return false;
  let sum = 0;
  for (const length of value) {
    if (!Number.isSafeInteger(length) || length < 0) return false;
    sum += length;
  }
  return sum <= MAX_BYTES;
}

/** The part of an application's error that a function receives: no stack, no cause, no properties. */
export function nameAndMessage(error: unknown): readonly [string, string] {
  try {
    if (error instanceof Error) return [cutText(`${error.name}`, MAX_NAME), cutText(`${error.message}`, MAX_MESSAGE)];
    return ['Error', cutText(`${error}`, MAX_MESSAGE)];
  } catch {
    return ['Error', 'The application threw a value that cannot be converted to a string'];
  }
}
