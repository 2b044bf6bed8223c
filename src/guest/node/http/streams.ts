/** The parts of node:stream that HTTP is built on, with types: the library has none. */
import { startTimer } from '../../web/scheduling/timers.ts';
import { checkFunction, checkNumber } from '../errors.ts';
import type { Emitter } from '../events/emitter.ts';
import stream from '../stream/stream.ts';

export type Done = (error?: Error | null) => void;

export interface NodeStream extends Emitter {
  destroyed: boolean;
  readonly errored: Error | null;
  destroy(error?: Error): this;
  setTimeout?(ms: number, onTimeout?: () => void): this;
}

export interface NodeReadable extends NodeStream {
  readonly readableEnded: boolean;
  push(chunk: Uint8Array | null): boolean;
  resume(): this;
}

export interface NodeWritable extends NodeStream {
  readonly writableEnded: boolean;
  readonly writableFinished: boolean;
  write(chunk: unknown, encoding?: unknown, done?: unknown): boolean;
  end(chunk?: unknown, encoding?: unknown, done?: unknown): this;
  cork(): void;
  uncork(): void;
}

/** A constructor of the library is a function, which older code calls with an object of its own. */
export interface StreamConstructor<T> {
  new (options?: object): T;
  (this: unknown, options?: object): void;
  readonly prototype: T;
}

const { Readable, Writable, Duplex } = stream as unknown as {
  readonly Readable: StreamConstructor<NodeReadable>;
  readonly Writable: StreamConstructor<NodeWritable>;
  readonly Duplex: StreamConstructor<NodeReadable & NodeWritable>;
}; // the library's own classes

export { Duplex, Readable, Writable };

/** Emits `timeout` when the time is over before the message. The host itself ends connections. */
export function emitTimeout(stream: NodeStream, ms: number, onTimeout: unknown, isOver: () => boolean): void {
  checkNumber(ms, 'msecs', 0);
  if (onTimeout !== undefined) {
    checkFunction(onTimeout, 'callback');
    stream.once('timeout', onTimeout as never); // checked
  }
  if (ms === 0) return;
  startTimer(ms, () => {
    if (!isOver() && !stream.destroyed) stream.emit('timeout');
  });
}

/** Lets `constructor` inherit from `parent`, and gives its prototype these methods and accessors. */
export function defineClass(
  name: string,
  constructor: object,
  parent: { readonly prototype: object },
  members: object,
): void {
  Object.setPrototypeOf(constructor, parent);
  const prototype = Object.create(parent.prototype, Object.getOwnPropertyDescriptors(members));
  Object.defineProperty(prototype, 'constructor', { value: constructor, writable: true, configurable: true });
  Object.defineProperty(constructor, 'prototype', { value: prototype, writable: true });
  Object.defineProperty(constructor, 'name', { value: name, configurable: true });
}
