/** Parts of the crash test: so large that they go to files. */
export const PART_BYTES = 70_000;

/** The value that operation `number` writes. */
export function crashValue(number: number, size: number): Buffer {
  return Buffer.alloc(size, `${number}.`);
}
