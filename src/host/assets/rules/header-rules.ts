/** The rules of `_headers`: a path, and below it the headers that responses under it get or lose. */
import { validateHeaderName, validateHeaderValue } from 'node:http';
import { RuleFile } from './rule-file.js';
import { filled, normalPath, RulePattern } from './rule-pattern.js';

/** The hosted platform has the same bound. */
const MAX_RULES = 100;
/** The host frames the bodies of responses itself. */
const NOT_ALLOWED: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);
const REMOVAL = '! ';

interface HeaderRule {
  readonly pattern: RulePattern;
  /** Names in lower case. */
  readonly removed: string[];
  readonly set: Map<string, string>;
  readonly line: number;
}

export class HeaderRules {
  readonly #rules: HeaderRule[] = [];

  /** @throws EdgeError EDGE_CONFIG_INVALID with the lines of the mistakes */
  constructor(file: string, text: string) {
    const rules = new RuleFile(file, text);
    let rule: HeaderRule | undefined;
    let isSkipped = false;
    for (const { number, text: line } of rules.lines()) {
      try {
        if (/^(?:\/|\S+:\/\/)/.test(line)) {
          isSkipped = true;
          rule = ruleOf(line, number);
          isSkipped = false;
          if (this.#rules.length >= MAX_RULES) throw new TypeError(`more than ${MAX_RULES} paths have rules`);
          this.#rules.push(rule);
        } else if (rule !== undefined && !isSkipped) addTo(rule, line);
        else if (!isSkipped)
          throw new TypeError('expected a path that begins with "/", or https:// and a host, before the first header');
      } catch (error) {
        if (!(error instanceof TypeError)) throw error;
        rules.fail(number, error.message);
      }
    }
    for (const { set, removed, line } of this.#rules)
      if (set.size === 0 && removed.length === 0) rules.fail(line, 'the path has no headers below it');
    rules.check();
  }

  /** Changes the headers of a response, names and values in turn. Headers of several rules are added to each other; they replace the host's own. */
  apply(host: string, path: string, headers: readonly string[]): readonly string[] {
    let changed: string[] | undefined;
    const own = new Set<string>();
    for (const { pattern, removed, set } of this.#rules) {
      const captures = pattern.match(host, path);
      if (captures === undefined) continue;
      changed ??= [...headers];
      for (const name of removed) remove(changed, name);
      for (const [name, value] of set) {
        if (!own.has(name)) remove(changed, name);
        own.add(name);
        changed.push(name, filled(value, captures));
      }
    }
    return changed ?? headers;
  }
}

/** @throws TypeError */
function ruleOf(line: string, number: number): HeaderRule {
  const rule = { removed: [], set: new Map(), line: number };
  if (line.startsWith('/')) return { ...rule, pattern: new RulePattern(normalPath(line, false)) };
  const [, host, path = ''] = /^https:\/\/([^/]+)(.*)$/.exec(line) ?? [];
  if (host === undefined)
    throw new TypeError(`the path is ${line}, expected one that begins with "/", or with https:// and a host`);
  if (/:\d+$/.test(host)) throw new TypeError(`the host ${host} has a port, expected one without`);
  return { ...rule, pattern: new RulePattern(`https://${host}${normalPath(path === '' ? '/' : path, false)}`) };
}

/** @throws TypeError */
function addTo({ removed, set }: HeaderRule, line: string): void {
  if (line.startsWith(REMOVAL)) {
    const name = line.slice(REMOVAL.length).trim().toLowerCase();
    validateHeaderName(name);
    removed.push(name);
    return;
  }
  const colon = line.indexOf(':');
  if (colon < 0)
    throw new TypeError(
      `the line is ${JSON.stringify(line.slice(0, 100))}, expected a header such as "name: value", or "! name"`,
    );
  const name = line.slice(0, colon).trim().toLowerCase();
  const value = line.slice(colon + 1).trim();
  validateHeaderName(name);
  validateHeaderValue(name, value);
  if (value === '') throw new TypeError(`the header ${name} has no value`);
  if (NOT_ALLOWED.has(name)) throw new TypeError(`the header ${name} belongs to the connection, and cannot be set`);
  const before = set.get(name);
  set.set(name, before === undefined ? value : `${before}, ${value}`);
}

function remove(headers: string[], name: string): void {
  for (let at = headers.length - 2; at >= 0; at -= 2) if (headers[at] === name) headers.splice(at, 2);
}
