/** `ctx` of a stateful object. */
import { currentInvocation } from '../events/invocation.ts';
import { ErrorCtor, jsonParse, promiseReject, TypeErrorCtor } from '../primordials.ts';
import { defineInterface, defineOwn, defineValue, invoke, isCallable, requireArguments } from '../web/base/idl.ts';
import { startTimer, stopTimer } from '../web/scheduling/timers.ts';
import type { LiveObject } from './live-object.ts';
import { createId, type StatefulId } from './object-id.ts';

/** How long blockConcurrencyWhile() may keep other events away. */
const BLOCK_MS = 30_000;

interface StateParts {
  readonly object: LiveObject;
  readonly name: string | undefined;
  readonly createStorage: () => object;
}

let construction: StateParts | undefined;

export class StatefulObjectState {
  readonly #object: LiveObject;
  readonly #createStorage: () => object;
  #storage: object | undefined = undefined;
  readonly id: StatefulId;

  constructor() {
    if (construction === undefined) throw new TypeErrorCtor('Illegal constructor');
    const { object, name, createStorage } = construction;
    construction = undefined;
    this.#object = object;
    this.#createStorage = createStorage;
    this.id = createId(object.id, name);
    defineOwn(this, 'props', jsonParse('{}'));
  }

  get storage(): object {
    this.#storage ??= this.#createStorage();
    return this.#storage;
  }

  /** Keeps the event that the calling code runs for open until the promise settles. */
  waitUntil(promise: unknown): void {
    requireArguments(arguments.length, 1, 'waitUntil');
    currentInvocation()?.waitUntil(promise);
  }

  /** No event is delivered until the callback is done. What it throws resets the object. */
  blockConcurrencyWhile(callback: unknown): Promise<unknown> {
    requireArguments(arguments.length, 1, 'blockConcurrencyWhile');
    if (!isCallable(callback)) return promiseReject(new TypeErrorCtor('blockConcurrencyWhile() takes a function'));
    let open: () => void;
    try {
      open = this.#object.gates.closeInput();
    } catch (error) {
      return promiseReject(error);
    }
    return block(this.#object, callback, open);
  }

  acceptWebSocket(): never {
    throw noSleeping('acceptWebSocket');
  }

  setWebSocketAutoResponse(): never {
    throw noSleeping('setWebSocketAutoResponse');
  }

  /** Ends the instance: whatever it was doing fails with the reason, and the next call makes a new one. */
  abort(reason: unknown = undefined): never {
    const error = reason ?? new ErrorCtor('The object was reset: it called abort()');
    this.#object.reset(error);
    throw error;
  }
}

defineInterface(StatefulObjectState);

function noSleeping(method: string): Error {
  const error = new ErrorCtor(
    `${method}() is not supported: call accept() of the WebSocket, which then keeps the object in memory`,
  );
  defineValue(error, 'code', 'EDGE_NOT_SUPPORTED');
  return error;
}

async function block(object: LiveObject, callback: Parameters<typeof invoke>[0], open: () => void): Promise<unknown> {
  const timer = startTimer(BLOCK_MS, () =>
    object.reset(
      new ErrorCtor(`A call to blockConcurrencyWhile() waited for too long: ${BLOCK_MS / 1000} seconds are allowed`),
    ),
  );
  try {
    return await invoke(callback, undefined, []);
  } catch (error) {
    object.reset(error);
    throw error;
  } finally {
    stopTimer(timer);
    open();
  }
}

export function createState(parts: StateParts): StatefulObjectState {
  construction = parts;
  return new StatefulObjectState();
}
