/** Values that cross to functions as JSON: a value that JSON would lose or change is refused. */
import { messageOf } from '../errors.js';

/** Objects that JSON writes as `{}`, or as what they have beside their content. */
const LOST = [Map, Set, WeakMap, WeakSet, Promise, Error, RegExp, ArrayBuffer];

/** Returns why JSON would refuse the value, or lose or change a part of it; undefined if it would do neither. */
export function whyNotJson(value: unknown): string | undefined {
  try {
    // Before the walk, because it refuses circular values.
    if (JSON.stringify(value) === undefined) return 'JSON cannot hold it';
  } catch (error) {
    return messageOf(error);
  }
  // No recursion and no replacer function: a customer's value may be deep, and may have millions of parts.
  const pending = [value];
  while (pending.length > 0) {
    const part = pending.pop();
    if (typeof part === 'number' && !Number.isFinite(part)) return `JSON cannot hold ${part}`;
    if (typeof part === 'function' || typeof part === 'symbol')
      return `it has a ${typeof part}, which JSON cannot hold`;
    if (typeof part !== 'object' || part === null) continue;
    const lost = ArrayBuffer.isView(part) ? part.constructor : LOST.find(type => part instanceof type);
    if (lost !== undefined)
      return `it has ${/^[AEIOU]/.test(lost.name) ? 'an' : 'a'} ${lost.name}, which JSON cannot hold`;
    if (!hasOwnForm(part)) for (const inner of Object.values(part)) pending.push(inner);
  }
  return undefined;
}

/** Such as a Date: the object says itself what JSON writes in its place. */
function hasOwnForm(value: object): boolean {
  return 'toJSON' in value && typeof value.toJSON === 'function';
}
