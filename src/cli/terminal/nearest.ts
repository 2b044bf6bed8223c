/** The name that was probably meant. */

/** More edits than this are another word. */
const MAX_EDITS = 2;

/** The candidate that differs from the text by the fewest letters, by two at most; undefined when none is so near. */
export function nearestOf(text: string, candidates: Iterable<string>): string | undefined {
  let nearest: string | undefined;
  // A word of two letters is not meant by another one of two letters.
  let least = Math.min(MAX_EDITS, Math.floor(text.length / 2)) + 1;
  for (const candidate of candidates) {
    const edits = candidate.startsWith(text) && text.length >= 2 ? 1 : editsBetween(text, candidate);
    if (edits < least) {
      least = edits;
      nearest = candidate;
    }
  }
  return nearest;
}

/** Letters to insert, remove, replace or swap with the next one (optimal string alignment). */
function editsBetween(from: string, to: string): number {
  if (Math.abs(from.length - to.length) > MAX_EDITS) return Number.POSITIVE_INFINITY;
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let column = 1; column <= to.length; column++) {
      const isSame = from[row - 1] === to[column - 1];
      let edits = Math.min(at(last, column) + 1, at(current, column - 1) + 1, at(last, column - 1) + (isSame ? 0 : 1));
      if (row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1])
        edits = Math.min(edits, at(beforeLast, column - 2) + 1);
      current.push(edits);
    }
    beforeLast = last;
    last = current;
  }
  return at(last, to.length);
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY;
}
