/** Pair iterators of WebIDL's iterable interfaces. @see https://webidl.spec.whatwg.org/#es-default-iterator-object */
import {
  getOwnPropertyDescriptor,
  objectCreate,
  TypeErrorCtor,
  WeakMapCtor,
  weakMapGet,
  weakMapSet,
} from '../primordials.ts';
import { createIteratorPrototype, defineValue, isObject } from './idl.ts';

export type PairKind = 'keys' | 'values' | 'entries';

/** The pairs as they are now, by position: iteration is live. */
export interface PairSource {
  pairAt(index: number): readonly [string, unknown] | undefined;
}

interface Position {
  readonly source: PairSource;
  readonly kind: PairKind;
  index: number;
}

/** Makes the iterators of one interface. */
export function createPairIterators(name: string): (source: PairSource, kind: PairKind) => IterableIterator<unknown> {
  const own = new WeakMapCtor<object, Position>();
  const { next } = {
    next(this: unknown): IteratorResult<unknown> {
      const position = isObject(this) ? weakMapGet(own, this) : undefined;
      if (position === undefined) throw new TypeErrorCtor(`The receiver of next() is not a ${name} Iterator`);
      const pair = position.source.pairAt(position.index);
      if (pair === undefined) return { value: undefined, done: true };
      position.index++;
      const { kind } = position;
      const value = kind === 'keys' ? pair[0] : kind === 'values' ? pair[1] : [pair[0], pair[1]];
      return { value, done: false };
    },
  };
  const prototype = createIteratorPrototype(name, next);
  return (source, kind) => {
    const iterator: IterableIterator<unknown> = objectCreate(prototype); // which has next and inherits Symbol.iterator
    weakMapSet(own, iterator, { source, kind, index: 0 });
    return iterator;
  };
}

/** Makes Symbol.iterator the same function as the method `name`. */
export function defineIterator(constructor: { readonly prototype: object }, name: string): void {
  const method: unknown = getOwnPropertyDescriptor(constructor.prototype, name)?.value;
  defineValue(constructor.prototype, Symbol.iterator, method);
}
