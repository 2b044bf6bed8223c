/** Regular expressions and boxed primitives, which are passed between functions and stored: the application does not get them. */
import { brandOf } from '../brands.ts';
import {
  bigintValueOf,
  booleanValueOf,
  numberValueOf,
  ObjectCtor,
  regExpFlags,
  regExpSource,
  stringValueOf,
} from '../primordials.ts';

/** An array with a tag, undefined for every other object. */
export function encodeWrapped(value: object, inner: (value: unknown) => unknown): unknown {
  switch (brandOf(value)) {
    case 'RegExp':
      return ['x', regExpSource(value), regExpFlags(value)];
    case 'Boolean':
      return ['v', booleanValueOf(value)];
    case 'Number':
      return ['v', inner(numberValueOf(value))];
    case 'String':
      return ['v', stringValueOf(value)];
    case 'BigInt':
      return ['v', inner(bigintValueOf(value))];
    default:
      return undefined;
  }
}

/** Undefined for arrays with other tags. */
export function decodeWrapped(list: readonly unknown[], inner: (json: unknown) => unknown): object | undefined {
  switch (list[0]) {
    case 'x':
      return new RegExpCtor(`${list[1]}`, `${list[2]}`);
    case 'v':
      return ObjectCtor(inner(list[1]));
    default:
      return undefined;
  }
}

const RegExpCtor = RegExp;
