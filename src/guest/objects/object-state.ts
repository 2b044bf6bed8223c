/** `ctx` of a stateful object. */
import { currentInvocation } from '../events/invocation.ts';
import { ErrorCtor, jsonParse, mathTrunc, promiseReject, TypeErrorCtor } from '../primordials.ts';
import { defineInterface, defineOwn, invoke, isCallable, requireArguments, toDouble } from '../web/base/idl.ts';
import { startOwnTimer, stopTimer } from '../web/scheduling/timers.ts';
import type { GuestLiveObject } from './live-object.ts';
import { createId, nameOf, type StatefulId } from './object-id.ts';
import { GuestObjectSockets } from './sockets/object-sockets.ts';

/** How long blockConcurrencyWhile() may keep other events away. */
const BLOCK_MS = 30_000;

interface StateParts {
  readonly object: GuestLiveObject;
  readonly name: string | undefined;
  readonly createStorage: () => object;
}

let construction: StateParts | undefined;

export class StatefulObjectState {
  readonly #object: GuestLiveObject;
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

  /** No event is delivered until the callback is done. An exception of the callback resets the object. */
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

  /** The WebSocket sleeps from now on: the host keeps it, also when there is no instance, and its messages are calls of webSocketMessage(). */
  acceptWebSocket(socket: unknown, tags: unknown = undefined): void {
    requireArguments(arguments.length, 1, 'acceptWebSocket');
    this.#sockets.accept(socket, tags);
  }

  /** The open sockets; with a tag, the ones that have it. */
  getWebSockets(tag: unknown = undefined): object[] {
    return this.#object.sockets?.list(tag) ?? [];
  }

  getTags(socket: unknown): string[] {
    requireArguments(arguments.length, 1, 'getTags');
    return this.#sockets.tagsOf(socket);
  }

  /** The host answers the request of the pair by itself, and nobody is woken. Without a pair it does no more. */
  setWebSocketAutoResponse(pair: unknown = undefined): void {
    this.#sockets.setAutoResponse(pair);
  }

  getWebSocketAutoResponse(): object | null {
    return this.#object.sockets?.autoResponse ?? null;
  }

  getWebSocketAutoResponseTimestamp(socket: unknown): Date | null {
    requireArguments(arguments.length, 1, 'getWebSocketAutoResponseTimestamp');
    return this.#sockets.answeredAt(socket);
  }

  setHibernatableWebSocketEventTimeout(timeoutMs: unknown = undefined): void {
    this.#sockets.setEventTimeout(
      timeoutMs === undefined ? 0 : mathTrunc(toDouble(timeoutMs, 'The timeout of events')),
    );
  }

  getHibernatableWebSocketEventTimeout(): number | null {
    const ms = this.#object.sockets?.eventTimeoutMs ?? 0;
    return ms === 0 ? null : ms;
  }

  get #sockets(): GuestObjectSockets {
    this.#object.sockets ??= new GuestObjectSockets(this.#object, nameOf(this.id));
    return this.#object.sockets;
  }

  /** Ends the instance: whatever it was doing fails with the reason, and the next call makes a new one. */
  abort(reason: unknown = undefined): never {
    const error = reason ?? new ErrorCtor('The object was reset: it called abort()');
    this.#object.reset(error);
    throw error;
  }
}

defineInterface(StatefulObjectState);

async function block(
  object: GuestLiveObject,
  callback: Parameters<typeof invoke>[0],
  open: () => void,
): Promise<unknown> {
  // The event stays open until the callback is done: so timers of the callback run in it, while other events wait.
  const invocation = currentInvocation();
  if (invocation !== undefined) invocation.tasks++;
  const timer = startOwnTimer(BLOCK_MS, () =>
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
    invocation?.endTask();
  }
}

export function createState(parts: StateParts): StatefulObjectState {
  construction = parts;
  return new StatefulObjectState();
}
