/** Lists of names and values in turn, as heads have them. */

/** All values of a header, joined; undefined when the header is absent. `name` in lower case. */
export function headerOf(headers: readonly string[], name: string): string | undefined {
  let joined: string | undefined;
  for (let at = 0; at + 1 < headers.length; at += 2) {
    const other = headers[at] ?? '';
    if (other.length !== name.length || other.toLowerCase() !== name) continue;
    const value = headers[at + 1] ?? '';
    joined = joined === undefined ? value : `${joined}, ${value}`;
  }
  return joined;
}

/** The items of a header that is a list, in lower case. */
export function listOf(value: string | undefined): string[] {
  if (value === undefined) return [];
  return value
    .toLowerCase()
    .split(',')
    .map(item => item.trim())
    .filter(item => item !== '');
}
