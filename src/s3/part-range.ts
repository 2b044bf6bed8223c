/** The bytes of part `number` of an object; undefined when it has no such part. An object put whole is its part 1. */
export function rangeOfPart(
  object: { readonly size: number; readonly partSizes?: readonly number[] },
  number: number,
): { readonly offset: number; readonly length: number; readonly count: number } | undefined {
  const sizes = object.partSizes ?? [object.size];
  const length = sizes[number - 1];
  if (length === undefined) return undefined;
  const offset = sizes.slice(0, number - 1).reduce((sum, size) => sum + size, 0);
  return { offset, length, count: sizes.length };
}
