/** Estimates the heap memory of a value that was parsed from JSON. */

/** The shortest texts that take most: `{},` is three bytes, and an object of 56 with its place in an array. */
const MAX_PER_CHARACTER = 22;
/** Texts up to this length are not looked into: to count them by the worst that they can be costs nothing. */
const LOOKED_INTO_FROM = 8 * 1024;
/** The size of an object with its first properties, and of an array with the header of its elements. */
const OBJECT_BYTES = 56;
const SLOT_BYTES = 8;
const PROPERTY_BYTES = 24;
/** Its header, and the loss by its alignment. */
const STRING_BYTES = 24;

/**
 * An upper bound of the bytes that a parsed value takes: property names are counted as if none was shared.
 *
 * @param textLength the length of the JSON that it was parsed from
 */
export function heapBytesOf(value: unknown, textLength: number): number {
  if (textLength < LOOKED_INTO_FROM) return textLength * MAX_PER_CHARACTER;
  let bytes = 0;
  // No recursion: a peer that nests deeply would exhaust the stack. Only arrays and objects wait, since most values are neither.
  const pending: object[] = [];
  const count = (item: unknown): void => {
    if (typeof item === 'string') bytes += STRING_BYTES + item.length * 2;
    else if (typeof item === 'object' && item !== null) pending.push(item);
    else bytes += STRING_BYTES;
  };
  count(value);
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    bytes += OBJECT_BYTES;
    if (Array.isArray(next)) {
      bytes += next.length * SLOT_BYTES;
      for (const item of next) count(item);
      continue;
    }
    const properties = next as { readonly [name: string]: unknown }; // every object can be read from
    for (const key of Object.keys(properties)) {
      bytes += PROPERTY_BYTES + STRING_BYTES + key.length * 2;
      count(properties[key]);
    }
  }
  return bytes;
}
