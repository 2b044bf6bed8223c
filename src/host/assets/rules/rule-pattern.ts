/**
 * Patterns of `_headers` and `_redirects`: placeholders such as `:name`, which match within a segment of a path or a label of a host, and one `*`, which
 * matches anything. Matching takes one pass over the text and no regular expression, because whoever writes a pattern must not be able to stop the host.
 */

/** The matched texts by the names of their placeholders; `splat` is what `*` has matched. */
export type Captures = ReadonlyMap<string, string>;

/** A part of a segment: a literal text, or the name of a placeholder. */
type Part = { readonly text: string } | { readonly name: string };

/** One segment of a path, or one label of a host. */
type Segment = readonly Part[];

const PLACEHOLDER = /:([A-Za-z]\w*)/g;
const SPLAT = 'splat';

export class RulePattern {
  /** Undefined: the rule is for every host. */
  readonly #host: readonly Segment[] | undefined;
  readonly #before: readonly Segment[];
  /** Texts around `*` in its segment; undefined without one. */
  readonly #splat: { readonly start: string; readonly end: string } | undefined;
  readonly #after: readonly Segment[];

  /**
   * @param pattern `/path`, or `https://host/path`
   * @throws TypeError for a pattern that cannot be matched
   */
  constructor(pattern: string) {
    const { host, path } = split(pattern);
    const names = new Set<string>();
    this.#host =
      host === undefined
        ? undefined
        : host
            .toLowerCase()
            .split('.')
            .map(label => partsOf(label, names));
    const segments = path.split('/');
    const at = segments.findIndex(segment => segment.includes('*'));
    if (path.indexOf('*') !== path.lastIndexOf('*')) throw new TypeError('it has more than one "*"');
    if (host?.includes('*') === true) throw new TypeError('its host has "*", where only placeholders are allowed');
    this.#before = (at < 0 ? segments : segments.slice(0, at)).map(segment => partsOf(segment, names));
    this.#after = at < 0 ? [] : segments.slice(at + 1).map(segment => partsOf(segment, names));
    this.#splat = at < 0 ? undefined : splatOf(segments[at] ?? '');
    if (this.#splat !== undefined && names.has(SPLAT)) throw new TypeError('it has both "*" and ":splat"');
  }

  /** Whether it is for one path of every host, which a table finds. */
  get isLiteral(): boolean {
    return (
      this.#host === undefined &&
      this.#splat === undefined &&
      this.#before.every(segment => segment.every(part => 'text' in part))
    );
  }

  /** @param host without a port */
  match(host: string, path: string): Captures | undefined {
    const captures = new Map<string, string>();
    if (this.#host !== undefined && !matchAll(this.#host, host.split('.'), captures)) return undefined;
    const segments = path.split('/');
    const splat = this.#splat;
    if (splat === undefined) return matchAll(this.#before, segments, captures) ? captures : undefined;
    const end = segments.length - this.#after.length;
    if (end <= this.#before.length) return undefined;
    const middle = segments.slice(this.#before.length, end).join('/');
    if (middle.length < splat.start.length + splat.end.length) return undefined;
    if (!middle.startsWith(splat.start) || !middle.endsWith(splat.end)) return undefined;
    captures.set(SPLAT, middle.slice(splat.start.length, middle.length - splat.end.length));
    const isMatch =
      matchAll(this.#before, segments.slice(0, this.#before.length), captures) &&
      matchAll(this.#after, segments.slice(end), captures);
    return isMatch ? captures : undefined;
  }
}

/** Puts the matched texts in the place of placeholders. A placeholder that the pattern does not have stays as it is. */
export function filled(template: string, captures: Captures): string {
  if (captures.size === 0 || !template.includes(':')) return template;
  return template.replace(PLACEHOLDER, (placeholder, name: string) => captures.get(name) ?? placeholder);
}

function split(pattern: string): { readonly host: string | undefined; readonly path: string } {
  const [, host, path = ''] = /^https:\/\/([^/]+)(.*)$/s.exec(pattern) ?? [];
  return host === undefined ? { host: undefined, path: pattern } : { host, path: path === '' ? '/' : path };
}

function partsOf(segment: string, names: Set<string>): Segment {
  const parts: Part[] = [];
  let end = 0;
  for (const match of segment.matchAll(PLACEHOLDER)) {
    const [placeholder, name = ''] = match;
    if (match.index > end) parts.push({ text: segment.slice(end, match.index) });
    else if (parts.length > 0)
      throw new TypeError(`"${placeholder}" follows another placeholder without a text between them`);
    if (names.has(name)) throw new TypeError(`it has "${placeholder}" twice`);
    names.add(name);
    parts.push({ name });
    end = match.index + placeholder.length;
  }
  if (end < segment.length) parts.push({ text: segment.slice(end) });
  return parts;
}

function splatOf(segment: string): { readonly start: string; readonly end: string } {
  if (/:[A-Za-z]/.test(segment)) throw new TypeError(`the segment "${segment}" has both "*" and a placeholder`);
  const at = segment.indexOf('*');
  return { start: segment.slice(0, at), end: segment.slice(at + 1) };
}

function matchAll(patterns: readonly Segment[], texts: readonly string[], captures: Map<string, string>): boolean {
  if (patterns.length !== texts.length) return false;
  return patterns.every((pattern, index) => matchOne(pattern, texts[index] ?? '', captures));
}

/**
 * From the end: each text between placeholders is taken where it comes last, so that each placeholder, from the first on, is as long as possible. That is the
 * choice of a greedy regular expression.
 */
function matchOne(pattern: Segment, text: string, captures: Map<string, string>): boolean {
  let end = text.length;
  for (let at = pattern.length - 1; at >= 0; at--) {
    const part = pattern[at];
    if (part === undefined) return false;
    if ('text' in part) {
      // A literal at the end of the rest: the placeholder behind it has been cut off.
      if (!text.slice(0, end).endsWith(part.text)) return false;
      end -= part.text.length;
      continue;
    }
    const start = startOf(pattern, at, text, end);
    if (start < 0 || end <= start) return false;
    captures.set(part.name, text.slice(start, end));
    end = start;
  }
  return end === 0;
}

/** Where the placeholder at this place of the pattern begins: behind the text before it. Negative when that text is not there. */
function startOf(pattern: Segment, at: number, text: string, end: number): number {
  const before = pattern[at - 1];
  if (before === undefined) return 0;
  const literal = 'text' in before ? before.text : '';
  // The first text of a pattern is at the start and nowhere else.
  if (at === 1) return text.startsWith(literal) ? literal.length : -1;
  // The placeholder has one character at least.
  const last = end - 1 - literal.length;
  const found = last < 0 ? -1 : text.lastIndexOf(literal, last);
  return found < 0 ? -1 : found + literal.length;
}

/** The path as a URL has it: with percent codes, without dot segments. @throws TypeError */
export function normalPath(text: string, withRest: boolean): string {
  let url: URL;
  try {
    url = new URL(`http://x${text.replace(/^\/+/, '/')}`);
  } catch {
    throw new TypeError(`${text} is not a valid path`);
  }
  return withRest ? `${url.pathname}${url.search}${url.hash}` : url.pathname;
}
