/** Channels of node:diagnostics_channel. @see https://nodejs.org/api/diagnostics_channel.html#class-channel */
import { queueMicrotask } from '../../web/scheduling/microtask.ts';
import { type AnyFunction, checkFunction, invalidArgType } from '../errors.ts';
import { onUncaught } from '../events/uncaught.ts';

export type Name = string | symbol;
type Subscriber = (message: unknown, name: Name) => void;
type Transform = (data: unknown) => unknown;

export interface Store {
  run(context: unknown, callback: () => unknown): unknown;
}

/** An error of a subscriber does not reach the publisher. */
function uncaughtLater(error: unknown): void {
  queueMicrotask(() => onUncaught(error));
}

/** Code knows it as Channel. */
export class DiagnosticsChannel {
  readonly name: Name;
  #subscribers: readonly Subscriber[] = [];
  readonly #stores = new Map<Store, Transform | undefined>();

  constructor(name: Name) {
    this.name = name;
  }

  get hasSubscribers(): boolean {
    return this.#subscribers.length > 0 || this.#stores.size > 0;
  }

  /** The list is replaced: publish() may be going through the one before. */
  subscribe(subscription: unknown): void {
    checkFunction(subscription, 'subscription');
    this.#subscribers = [...this.#subscribers, subscription as Subscriber]; // checked as far as it can be
  }

  unsubscribe(subscription: unknown): boolean {
    const at = this.#subscribers.indexOf(subscription as Subscriber); // compared alone
    if (at < 0) return false;
    this.#subscribers = this.#subscribers.filter((_, index) => index !== at);
    return true;
  }

  publish(data: unknown): void {
    for (const subscriber of this.#subscribers) {
      try {
        subscriber(data, this.name);
      } catch (error) {
        uncaughtLater(error);
      }
    }
  }

  bindStore(store: Store, transform?: Transform): void {
    this.#stores.set(store, transform);
  }

  unbindStore(store: Store): boolean {
    return this.#stores.delete(store);
  }

  /** Publishes the data and calls the function, with the data as the value of the stores. */
  runStores(data: unknown, callback: unknown, receiver?: unknown, ...args: unknown[]): unknown {
    if (!this.hasSubscribers) return Reflect.apply(callback as AnyFunction, receiver, args); // a TypeError, as Node's, for others
    let run = (): unknown => {
      this.publish(data);
      return Reflect.apply(callback as AnyFunction, receiver, args);
    };
    for (const [store, transform] of this.#stores) run = inStore(store, transform, data, run);
    return run();
  }
}

Object.defineProperty(DiagnosticsChannel, 'name', { value: 'Channel', configurable: true });

function inStore(store: Store, transform: Transform | undefined, data: unknown, next: () => unknown): () => unknown {
  return () => {
    let context = data;
    try {
      if (transform !== undefined) context = transform(data);
    } catch (error) {
      uncaughtLater(error);
      return next();
    }
    return store.run(context, next);
  };
}

const channels = new Map<Name, DiagnosticsChannel>();

/** The channel of the name, which is made when it is first asked for. */
export function channel(name: unknown): DiagnosticsChannel {
  if (typeof name !== 'string' && typeof name !== 'symbol') {
    throw invalidArgType('channel', ['string', 'symbol'], name);
  }
  let found = channels.get(name);
  if (found === undefined) {
    found = new DiagnosticsChannel(name);
    channels.set(name, found);
  }
  return found;
}

export function hasSubscribers(name: Name): boolean {
  return channels.get(name)?.hasSubscribers ?? false;
}
