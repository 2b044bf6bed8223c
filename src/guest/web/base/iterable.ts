/** Pair iterators of WebIDL's iterable interfaces. @see https://webidl.spec.whatwg.org/#es-default-iterator-object */
import { getOwnPropertyDescriptor, getPrototypeOf, setPrototypeOf, TypeErrorCtor } from '../../primordials.ts';
import { defineInterface, defineValue, isObject } from './idl.ts';

const IteratorPrototype = getPrototypeOf(getPrototypeOf([][Symbol.iterator]()) ?? {});

export type PairKind = 'keys' | 'values' | 'entries';

/** The pairs as they are now, by position: iteration is live. */
export interface PairSource {
  pairAt(index: number): readonly [string, unknown] | undefined;
}

/** Makes the iterators of one interface. */
export function createPairIterators(name: string): (source: PairSource, kind: PairKind) => IterableIterator<unknown> {
  class PairIterator {
    readonly #source: PairSource;
    readonly #kind: PairKind;
    #index = 0;

    constructor(source: PairSource, kind: PairKind) {
      this.#source = source;
      this.#kind = kind;
    }

    next(): IteratorResult<unknown> {
      if (!isObject(this) || !(#source in this)) {
        throw new TypeErrorCtor(`The receiver of next() is not a ${name} Iterator`);
      }
      const pair = this.#source.pairAt(this.#index);
      if (pair === undefined) return { value: undefined, done: true };
      this.#index++;
      const kind = this.#kind;
      const value = kind === 'keys' ? pair[0] : kind === 'values' ? pair[1] : [pair[0], pair[1]];
      return { value, done: false };
    }
  }
  const { prototype } = PairIterator;
  setPrototypeOf(prototype, IteratorPrototype);
  defineInterface(PairIterator, `${name} Iterator`);
  // The prototype of an iterator leads to no constructor.
  Reflect.deleteProperty(prototype, 'constructor');
  return (source, kind) => new PairIterator(source, kind) as unknown as IterableIterator<unknown>; // by IteratorPrototype
}

/** Makes Symbol.iterator the same function as the method `name`. */
export function defineIterator(constructor: { readonly prototype: object }, name: string): void {
  const method: unknown = getOwnPropertyDescriptor(constructor.prototype, name)?.value;
  defineValue(constructor.prototype, Symbol.iterator, method);
}
