/** Path patterns of the API: `{name}` matches one segment, `{name...}` the rest of the path (one segment or more). */

export type PathParams = Readonly<Record<string, string>>;

class PathNode<T> {
  readonly literals = new Map<string, PathNode<T>>();
  parameter: PathNode<T> | undefined;
  /** The entries with a `{name...}` at this place. */
  rest: Entry<T>[] | undefined;
  readonly entries: Entry<T>[] = [];
}

interface Entry<T> {
  readonly pattern: string;
  readonly names: readonly string[];
  readonly value: T;
}

export interface PathMatch<T> {
  readonly pattern: string;
  readonly params: PathParams;
  readonly value: T;
}

/**
 * Finds the entries that are registered for a path. A literal segment wins over a parameter and a parameter over a rest, independent of the
 * order of registration. The time depends on the path's length, not on the number of patterns.
 */
export class PathTable<T> {
  readonly #root = new PathNode<T>();

  add(pattern: string, value: T): void {
    const names: string[] = [];
    let node = this.#root;
    for (const segment of splitPath(pattern)) {
      const parameter = parameterOf(segment);
      if (parameter === null) {
        const next = node.literals.get(segment) ?? new PathNode<T>();
        node.literals.set(segment, next);
        node = next;
        continue;
      }
      names.push(parameter.name);
      if (parameter.rest) {
        node.rest ??= [];
        node.rest.push({ pattern, names, value });
        return;
      }
      node.parameter ??= new PathNode<T>();
      node = node.parameter;
    }
    node.entries.push({ pattern, names, value });
  }

  /** Everything registered under the pattern that fits the (decoded) segments best; empty when none fits. */
  find(segments: readonly string[]): readonly PathMatch<T>[] {
    const found = search(this.#root, segments, 0, []);
    if (found === null) return [];
    return found.entries.map(entry => ({
      pattern: entry.pattern,
      params: Object.fromEntries(entry.names.map((name, index) => [name, found.values[index] ?? ''])),
      value: entry.value,
    }));
  }
}

interface Found<T> {
  readonly entries: readonly Entry<T>[];
  readonly values: readonly string[];
}

function search<T>(
  node: PathNode<T>,
  segments: readonly string[],
  at: number,
  values: readonly string[],
): Found<T> | null {
  const segment = segments[at];
  if (segment === undefined) return node.entries.length === 0 ? null : { entries: node.entries, values };
  const literal = node.literals.get(segment);
  if (literal !== undefined) {
    const found = search(literal, segments, at + 1, values);
    if (found !== null) return found;
  }
  if (node.parameter !== undefined) {
    const found = search(node.parameter, segments, at + 1, [...values, segment]);
    if (found !== null) return found;
  }
  if (node.rest === undefined) return null;
  return { entries: node.rest, values: [...values, segments.slice(at).join('/')] };
}

/** The segments of a path that begins with a slash; `/` has none. */
export function splitPath(path: string): string[] {
  return path === '/' ? [] : path.slice(1).split('/');
}

export interface PatternParameter {
  readonly name: string;
  readonly rest: boolean;
}

export function parameterOf(segment: string): PatternParameter | null {
  const match = /^\{(\w+)(\.\.\.)?\}$/.exec(segment);
  return match?.[1] === undefined ? null : { name: match[1], rest: match[2] !== undefined };
}

/** Puts the values into the pattern, each percent-encoded (a rest keeps its slashes). Names without a value stay. */
export function fillPath(pattern: string, params: PathParams): string {
  return pattern.replace(/\{(\w+)(\.\.\.)?\}/g, (whole, name: string) => {
    const value = params[name];
    return value === undefined ? whole : value.split('/').map(encodeURIComponent).join('/');
  });
}
