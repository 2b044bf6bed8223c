/** A Transform that becomes a stream when it is first used as one: most hashes and ciphers never are. */
import stream from '../stream/stream.ts';

interface StreamState {
  _readableState: unknown;
  _writableState: unknown;
}

interface LazyOptions {
  readonly options: object | undefined;
}

const pending = new WeakMap<object, LazyOptions>();

/** To be called by the constructor of a class that extends LazyTransform. */
function initialize(target: object, options: unknown): void {
  pending.set(target, { options: typeof options === 'object' && options !== null ? options : undefined });
}

const Transform = stream.Transform as unknown as {
  readonly prototype: object;
  call(target: object, options?: object): void;
}; // a function of old style

function LazyTransformFunction(this: object, options?: unknown): void {
  initialize(this, options);
}
Object.setPrototypeOf(LazyTransformFunction.prototype, Transform.prototype);
Object.setPrototypeOf(LazyTransformFunction, Transform);

for (const name of ['_readableState', '_writableState'] as const) {
  Object.defineProperty(LazyTransformFunction.prototype, name, {
    get(this: StreamState) {
      const lazy = pending.get(this);
      if (lazy === undefined) return undefined;
      pending.delete(this);
      Transform.call(this, { decodeStrings: false, ...lazy.options });
      return this[name];
    },
    set(this: StreamState, value: unknown) {
      Object.defineProperty(this, name, { value, writable: true, enumerable: true, configurable: true });
    },
    enumerable: false,
    configurable: true,
  });
}

/** The members of Transform that these classes use. */
export interface TransformMembers {
  push(chunk: unknown, encoding?: string): boolean;
  end(chunk?: unknown): unknown;
  write(chunk: unknown): unknown;
  read(): unknown;
}

export const LazyTransform = LazyTransformFunction as unknown as new (options?: unknown) => TransformMembers; // as set up above
