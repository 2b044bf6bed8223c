/** Finds the name that was probably meant by an unknown key. */

/** The nearest of the names that differ by no more than a typing error; undefined when none does. */
export function nearestName(given: string, names: readonly string[]): string | undefined {
  // Keys come from outside, and the distance takes time by the product of the lengths.
  if (given.length > 40) return undefined;
  const wanted = plain(given);
  let nearest: string | undefined;
  let least = mistakesIn(wanted) + 1;
  for (const name of names) {
    const distance = distanceOf(wanted, plain(name), least);
    if (distance >= least) continue;
    nearest = name;
    least = distance;
  }
  return nearest;
}

/** The most typing errors that a name of this length is taken to have. */
export function mistakesIn({ length }: string): number {
  return Math.floor((length + 1) / 4);
}

/** `cpu_ms`, `cpuMS` and `CpuMs` are one name to who types them. */
function plain(name: string): string {
  return name.toLowerCase().replace(/[_-]/g, '');
}

/** Rows of the table of distances. They are reused: catalogues have thousands of names. */
const rows = [new Uint16Array(64), new Uint16Array(64), new Uint16Array(64)];

/** Characters to insert, remove, replace or swap with their neighbour to make one text of the other; `most` when they are that many or more. */
export function distanceOf(a: string, b: string, most: number): number {
  if (Math.abs(a.length - b.length) >= most) return most;
  let [before, row, next] = rowsOf(b.length + 1);
  for (let j = 0; j <= b.length; j++) row[j] = Math.min(j, most);
  for (let i = 1; i <= a.length; i++) {
    // Cells further from the diagonal are `most` or more.
    const first = Math.max(1, i - most + 1);
    const last = Math.min(b.length, i + most - 1);
    next[first - 1] = first === 1 ? Math.min(i, most) : most;
    let least = next[first - 1] ?? most;
    const code = a.charCodeAt(i - 1);
    for (let j = first; j <= last; j++) {
      const other = b.charCodeAt(j - 1);
      let distance = (row[j - 1] ?? most) + (code === other ? 0 : 1);
      distance = Math.min(distance, (row[j] ?? most) + 1, (next[j - 1] ?? most) + 1, most);
      if (i > 1 && j > 1 && code === b.charCodeAt(j - 2) && a.charCodeAt(i - 2) === other)
        distance = Math.min(distance, (before[j - 2] ?? most) + 1);
      next[j] = distance;
      if (distance < least) least = distance;
    }
    if (last < b.length) next[last + 1] = most;
    // A swap of the next character would come from the row before, at the cost of one.
    if (least >= most && !hasLess(row, most - 1, first, last)) return most;
    [before, row, next] = [row, next, before];
  }
  return Math.min(row[b.length] ?? most, most);
}

function rowsOf(length: number): [Uint16Array, Uint16Array, Uint16Array] {
  if ((rows[0]?.length ?? 0) < length) for (let at = 0; at < 3; at++) rows[at] = new Uint16Array(2 * length);
  const [first = new Uint16Array(length), second = first, third = first] = rows;
  return [first, second, third];
}

function hasLess(row: Uint16Array, than: number, first: number, last: number): boolean {
  for (let j = first - 1; j <= last; j++) if ((row[j] ?? than) < than) return true;
  return false;
}
