/** The lines of two texts, with `+` before what only the first has, and `-` before what only the second has. */

/** Beyond it, the lines are shown one text after the other. */
const MAX_CELLS = 1_000_000;

export function lineDiff(actual: readonly string[], expected: readonly string[]): string[] {
  if (actual.length * expected.length > MAX_CELLS) {
    return [...actual.map(line => `+ ${line}`), ...expected.map(line => `- ${line}`)];
  }
  const lengths = commonLengths(actual, expected);
  const width = expected.length + 1;
  const lines: string[] = [];
  let a = 0;
  let b = 0;
  while (a < actual.length || b < expected.length) {
    if (a < actual.length && b < expected.length && actual[a] === expected[b]) {
      lines.push(`  ${actual[a++]}`);
      b++;
      continue;
    }
    const afterActual = a < actual.length ? (lengths[(a + 1) * width + b] ?? 0) : -1;
    const afterExpected = b < expected.length ? (lengths[a * width + b + 1] ?? 0) : -1;
    if (afterActual >= afterExpected) lines.push(`+ ${actual[a++]}`);
    else lines.push(`- ${expected[b++]}`);
  }
  return lines;
}

/** For each pair of positions, how many lines what follows has in common. */
function commonLengths(actual: readonly string[], expected: readonly string[]): Uint32Array {
  const width = expected.length + 1;
  const lengths = new Uint32Array((actual.length + 1) * width);
  for (let a = actual.length - 1; a >= 0; a--) {
    for (let b = expected.length - 1; b >= 0; b--) {
      lengths[a * width + b] =
        actual[a] === expected[b]
          ? (lengths[(a + 1) * width + b + 1] ?? 0) + 1
          : Math.max(lengths[(a + 1) * width + b] ?? 0, lengths[a * width + b + 1] ?? 0);
    }
  }
  return lengths;
}
