/** tracingChannel(): the channels of one operation. @see https://nodejs.org/api/diagnostics_channel.html#class-tracingchannel */
import { type AnyFunction, checkFunction, invalidArgType } from '../errors.ts';
import { channel, DiagnosticsChannel } from './channel.ts';

const EVENTS = ['start', 'end', 'asyncStart', 'asyncEnd', 'error'] as const;
type EventName = (typeof EVENTS)[number];

interface Context {
  result?: unknown;
  error?: unknown;
}

type Handlers = { readonly [Event in EventName]?: unknown };

function channelOf(given: unknown, event: EventName): DiagnosticsChannel {
  if (typeof given === 'string') return channel(`tracing:${given}:${event}`);
  if (typeof given === 'object' && given !== null) {
    const found: unknown = Reflect.get(given, event);
    if (found instanceof DiagnosticsChannel) return found;
    throw invalidArgType(`nameOrChannels.${event}`, ['Channel'], found);
  }
  throw invalidArgType('nameOrChannels', ['string', 'object', 'TracingChannel'], given);
}

export class TracingChannel {
  readonly start: DiagnosticsChannel;
  readonly end: DiagnosticsChannel;
  readonly asyncStart: DiagnosticsChannel;
  readonly asyncEnd: DiagnosticsChannel;
  readonly error: DiagnosticsChannel;

  constructor(nameOrChannels: unknown) {
    this.start = channelOf(nameOrChannels, 'start');
    this.end = channelOf(nameOrChannels, 'end');
    this.asyncStart = channelOf(nameOrChannels, 'asyncStart');
    this.asyncEnd = channelOf(nameOrChannels, 'asyncEnd');
    this.error = channelOf(nameOrChannels, 'error');
  }

  get hasSubscribers(): boolean {
    return EVENTS.some(event => this[event].hasSubscribers);
  }

  subscribe(handlers: Handlers): void {
    for (const event of EVENTS) if (handlers[event]) this[event].subscribe(handlers[event]);
  }

  /** False when one of them was not subscribed. */
  unsubscribe(handlers: Handlers): boolean {
    let isDone = true;
    for (const event of EVENTS) {
      if (handlers[event] && !this[event].unsubscribe(handlers[event])) isDone = false;
    }
    return isDone;
  }

  traceSync(callback: unknown, context: Context = {}, receiver?: unknown, ...args: unknown[]): unknown {
    if (!this.hasSubscribers) return call(callback, receiver, args);
    return this.start.runStores(context, () => {
      try {
        const result = call(callback, receiver, args);
        context.result = result;
        return result;
      } catch (error) {
        this.#failed(context, error);
        throw error;
      } finally {
        this.end.publish(context);
      }
    });
  }

  tracePromise(callback: unknown, context: Context = {}, receiver?: unknown, ...args: unknown[]): unknown {
    if (!this.hasSubscribers) return call(callback, receiver, args);
    const settled = (): void => {
      this.asyncStart.publish(context);
      this.asyncEnd.publish(context);
    };
    return this.start.runStores(context, () => {
      try {
        return Promise.resolve(call(callback, receiver, args)).then(
          result => {
            context.result = result;
            settled();
            return result;
          },
          error => {
            this.#failed(context, error);
            settled();
            throw error;
          },
        );
      } catch (error) {
        this.#failed(context, error);
        throw error;
      } finally {
        this.end.publish(context);
      }
    });
  }

  /** `position`: of the callback among the arguments. */
  traceCallback(
    callback: unknown,
    position = -1,
    context: Context = {},
    receiver?: unknown,
    ...args: unknown[]
  ): unknown {
    if (!this.hasSubscribers) return call(callback, receiver, args);
    const last = args.at(position);
    checkFunction(last, 'callback');
    const channels = this;
    args.splice(position, 1, function (this: unknown, ...results: unknown[]): unknown {
      const [error, result] = results;
      if (error) channels.#failed(context, error);
      else context.result = result;
      return channels.asyncStart.runStores(context, () => {
        try {
          return call(last, this, results);
        } finally {
          channels.asyncEnd.publish(context);
        }
      });
    });
    return this.start.runStores(context, () => {
      try {
        return call(callback, receiver, args);
      } catch (error) {
        this.#failed(context, error);
        throw error;
      } finally {
        this.end.publish(context);
      }
    });
  }

  #failed(context: Context, error: unknown): void {
    context.error = error;
    this.error.publish(context);
  }
}

function call(callback: unknown, receiver: unknown, args: readonly unknown[]): unknown {
  return Reflect.apply(callback as AnyFunction, receiver, args); // a TypeError, as Node's, for other values
}
