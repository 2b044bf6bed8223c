/** Finds the name that was probably meant by an unknown key. */

/** The nearest of the names that differ by no more than a typing error; undefined when none does. */
export function nearestName(given: string, names: readonly string[]): string | undefined {
  // Keys come from outside, and the distance takes time by the product of the lengths.
  if (given.length > 40) return undefined;
  const wanted = plain(given);
  let nearest: string | undefined;
  let least = Math.floor((wanted.length + 1) / 4) + 1;
  for (const name of names) {
    const distance = distanceOf(wanted, plain(name), least);
    if (distance >= least) continue;
    nearest = name;
    least = distance;
  }
  return nearest;
}

/** `cpu_ms`, `cpuMS` and `CpuMs` are one name to who types them. */
function plain(name: string): string {
  return name.toLowerCase().replace(/[_-]/g, '');
}

/** Characters to insert, remove, replace or swap with their neighbour to make one text of the other; `most` when they are that many or more. */
export function distanceOf(a: string, b: string, most: number): number {
  if (Math.abs(a.length - b.length) >= most) return most;
  let before: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const isSame = a[i - 1] === b[j - 1];
      const replaced = (row[j - 1] ?? most) + (isSame ? 0 : 1);
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swapped = isSwapped ? (before[j - 2] ?? most) + 1 : most;
      next.push(Math.min(replaced, swapped, (row[j] ?? most) + 1, (next[j - 1] ?? most) + 1));
    }
    before = row;
    row = next;
  }
  return Math.min(row[b.length] ?? most, most);
}
