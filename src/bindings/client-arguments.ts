/** The arguments that clients of several bindings have. */

/** A key as text. An undefined key is refused: it is a mistake, and as the text "undefined" it could name a key to delete. */
export function keyOf(method: string, key: unknown): string {
  if (key === undefined) throw new TypeError(`${method}: the key is undefined, it must be a string`);
  return `${key}`;
}

export function isArrayBuffer(value: unknown): value is ArrayBuffer {
  return Object.prototype.toString.call(value) === '[object ArrayBuffer]';
}
