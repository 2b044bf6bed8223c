/** Estimates the heap memory of a value that was parsed from JSON. */

/** The shortest texts that take most: `{},` is three bytes, and an object of 56 with its place in an array. */
const MAX_PER_CHARACTER = 22;
/** Texts up to this length are not looked into: to count them by the worst that they can be costs nothing. */
const LOOKED_INTO_FROM = 8 * 1024;
/** The size of an object with its first properties, and of an array with the header of its elements. */
const OBJECT_BYTES = 56;
const SLOT_BYTES = 8;
const PROPERTY_BYTES = 24;
/** Its header, and what is lost to its alignment. */
const STRING_BYTES = 24;

/**
 * An upper bound of the bytes that a parsed value takes: property names are counted as if none was shared.
 *
 * @param textLength the length of the JSON that it was parsed from
 */
export function heapBytesOf(value: unknown, textLength: number): number {
  if (textLength < LOOKED_INTO_FROM) return textLength * MAX_PER_CHARACTER;
  let bytes = 0;
  // No recursion: a peer that nests deeply would exhaust the stack.
  const pending: unknown[] = [value];
  while (pending.length > 0) {
    const next = pending.pop();
    if (typeof next === 'string') bytes += STRING_BYTES + next.length * 2;
    else if (Array.isArray(next)) {
      bytes += OBJECT_BYTES + next.length * SLOT_BYTES;
      for (const item of next) pending.push(item);
    } else if (typeof next === 'object' && next !== null) {
      bytes += OBJECT_BYTES;
      for (const [key, item] of Object.entries(next)) {
        bytes += PROPERTY_BYTES + STRING_BYTES + key.length * 2;
        pending.push(item);
      }
    } else bytes += STRING_BYTES;
  }
  return bytes;
}
