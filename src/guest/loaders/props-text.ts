/** The props that a function gives an entrypoint, as JSON. They are written here, because a value with `toJSON()` must not become another one. */
import { brandOf } from '../brands.ts';
import { getPrototypeOf, isArray, jsonStringify, objectKeys, RangeErrorCtor, TypeErrorCtor } from '../primordials.ts';
import { isObject } from '../web/base/idl.ts';

const MAX_DEPTH = 100;

/** '' without props. @throws TypeError for a value that JSON cannot hold, RangeError for one that is nested too deeply */
export function propsText(options: unknown, what: string): string {
  if (options === undefined || options === null) return '';
  if (!isObject(options)) throw new TypeErrorCtor(`The options of ${what} are not an object`);
  const { props } = options as { readonly props?: unknown }; // every object can be read from
  if (props === undefined) return '';
  if (!isObject(props) || isArray(props)) throw new TypeErrorCtor(`The props of ${what} are not an object`);
  return written(props, what, 0);
}

function written(value: unknown, what: string, depth: number): string {
  if (depth > MAX_DEPTH) {
    throw new RangeErrorCtor(`The props of ${what} are nested more than ${MAX_DEPTH} levels deep, or in a circle`);
  }
  switch (typeof value) {
    case 'string':
      return jsonStringify(value);
    case 'boolean':
      return `${value}`;
    case 'number':
      if (value - value === 0) return `${value}`;
      throw notJson(`the number ${value}`, what);
    case 'object':
      if (value === null) return 'null';
      return isArray(value) ? writtenItems(value, what, depth) : writtenObject(value, what, depth);
    default:
      throw notJson(`a ${typeof value}`, what);
  }
}

function writtenItems(items: readonly unknown[], what: string, depth: number): string {
  let text = '';
  for (let i = 0; i < items.length; i++) text += `${i === 0 ? '' : ','}${written(items[i], what, depth + 1)}`;
  return `[${text}]`;
}

function writtenObject(object: object, what: string, depth: number): string {
  const prototype = getPrototypeOf(object);
  if (brandOf(object) !== 'Object' || (prototype !== null && prototype !== ObjectPrototype)) {
    throw notJson('an instance of a class', what);
  }
  const keys = objectKeys(object);
  let text = '';
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i] ?? '';
    const value = (object as { readonly [name: string]: unknown })[key]; // every object can be read from
    if (value === undefined) continue;
    text += `${text === '' ? '' : ','}${jsonStringify(key)}:${written(value, what, depth + 1)}`;
  }
  return `{${text}}`;
}

const ObjectPrototype: object = Object.prototype;

function notJson(given: string, what: string): Error {
  return new TypeErrorCtor(`The props of ${what} have ${given}, expected what JSON can hold`);
}
