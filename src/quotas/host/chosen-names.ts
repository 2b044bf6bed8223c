/**
 * Objects with names that somebody else has chosen. V8 keeps a property with an array index as its name in a list, up to one and a half times as long as the
 * largest index: `{ 1023: 0, 2500: 0 }`, made one property at a time, takes 30 KB (Node 20.20). Such objects are made dictionaries first, which take 300 bytes.
 */

// Captured, because the clients of bindings use this file in the realms of functions, too.
const { defineProperty } = Object;
const { deleteProperty, set } = Reflect;

/** The largest array index. An object that has had it stays a dictionary. */
const LARGEST_INDEX = 2 ** 32 - 2;

/** Whether V8 keeps a property of this name by its number. */
export function isIndex(name: string): boolean {
  const first = name[0] ?? '';
  if (first < '0' || first > '9') return false;
  const index = +name >>> 0;
  return index <= LARGEST_INDEX && `${index}` === name;
}

/** Whether a list would have gaps when an object of `count` properties gets one of this name. */
export function isSparseIndex(name: string, count: number): boolean {
  return isIndex(name) && Number(name) >= count;
}

/** From now on the object takes memory for the indexes that it has, not for those below them. It must not have the largest index yet. */
export function makeSparse(object: object): void {
  set(object, LARGEST_INDEX, undefined);
  deleteProperty(object, LARGEST_INDEX);
}

/** Sets a property of a plain object. One that its prototype has, such as `__proto__`, is defined: an assignment could call a setter or fail. */
export function setOwn<T>(object: Record<string, T>, name: string, value: T): void {
  if (name in object) defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true });
  else object[name] = value;
}

/** `Object.fromEntries` for such names. */
export function objectFrom<T>(entries: readonly (readonly [name: string, value: T])[]): Record<string, T> {
  const object: Record<string, T> = {};
  let isSparse = false;
  for (const [name, value] of entries) {
    if (!isSparse && isSparseIndex(name, entries.length)) {
      isSparse = true;
      makeSparse(object);
    }
    setOwn(object, name, value);
  }
  return object;
}
