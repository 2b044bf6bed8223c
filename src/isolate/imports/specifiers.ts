/** The specifiers of imports: the names that they stand for, and the types that they ask for. */

/** `./a.js` relative to the referrer, a bare name as it is; an extension may be left out. */
export function candidates(specifier: string, referrer: string): string[] {
  let name = specifier;
  if (specifier.startsWith('./') || specifier.startsWith('../')) {
    const parts = referrer.split('/').slice(0, -1);
    for (const part of specifier.split('/')) {
      if (part === '..') parts.pop();
      else if (part !== '.') parts.push(part);
    }
    name = parts.join('/');
  }
  return [name, `./${name}`, `${name}.js`, `${name}.mjs`];
}

/** Node 20 gives both imports of one specifier in one module the same module, whatever their attributes are. */
export function mixedTypes(
  seen: Map<string, boolean>,
  referrer: string,
  specifier: string,
  asBytes: boolean,
): string | undefined {
  const key = `${referrer}\n${specifier}`;
  if ((seen.get(key) ?? asBytes) !== asBytes) return `both with type 'bytes' and without: take one of the two`;
  seen.set(key, asBytes);
  return undefined;
}
