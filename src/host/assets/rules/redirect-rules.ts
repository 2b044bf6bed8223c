/** The rules of `_redirects`: a source, a target and a status on each line. */
import { RuleFile } from './rule-file.js';
import { filled, normalPath, RulePattern } from './rule-pattern.js';

/** The hosted platform has the same bounds. The first rule with a placeholder or `*` ends the static ones. */
const MAX_STATIC = 2000;
const MAX_DYNAMIC = 100;

const STATUSES = [200, 301, 302, 303, 307, 308] as const;
const DEFAULT_STATUS = 302;

/** A redirect that matches a path: 200 serves the target in place of the path. */
export interface MatchedRedirect {
  readonly status: number;
  /** A path with query and fragment, or a URL. */
  readonly target: string;
}

interface DynamicRule extends MatchedRedirect {
  readonly pattern: RulePattern;
}

export class RedirectRules {
  readonly #fixed = new Map<string, MatchedRedirect>();
  readonly #dynamic: DynamicRule[] = [];

  /**
   * @param isHtmlHandled the extension of pages is left out of their URLs
   * @throws EdgeError EDGE_CONFIG_INVALID with the lines of the mistakes
   */
  constructor(file: string, text: string, isHtmlHandled: boolean) {
    const rules = new RuleFile(file, text);
    const seen = new Set<string>();
    let fixed = 0;
    for (const line of rules.lines()) {
      try {
        const { source, target, status } = parseLine(line.text);
        if (isEndless(source, target, isHtmlHandled))
          throw new TypeError('the target leads to the rule again: an endless loop');
        if (seen.has(source)) throw new TypeError(`the source ${source} is there twice`);
        seen.add(source);
        const pattern = new RulePattern(source);
        if (pattern.isLiteral && this.#dynamic.length === 0) {
          if (++fixed > MAX_STATIC) throw new TypeError(`more than ${MAX_STATIC} rules without placeholders`);
          this.#fixed.set(source, { status, target });
        } else {
          if (this.#dynamic.length >= MAX_DYNAMIC) throw new TypeError(TOO_MANY_DYNAMIC);
          this.#dynamic.push({ pattern, status, target });
        }
      } catch (error) {
        if (!(error instanceof TypeError)) throw error;
        rules.fail(line.number, error.message);
      }
    }
    rules.check();
  }

  match(host: string, path: string): MatchedRedirect | undefined {
    const fixed = this.#fixed.get(path);
    if (fixed !== undefined) return fixed;
    for (const { pattern, status, target } of this.#dynamic) {
      const captures = pattern.match(host, path);
      if (captures !== undefined) return { status, target: cleaned(filled(target, captures)) };
    }
    return undefined;
  }
}

const TOO_MANY_DYNAMIC = `more than ${MAX_DYNAMIC} rules with placeholders or "*", or below such a rule`;

/** @throws TypeError */
function parseLine(text: string): MatchedRedirect & { readonly source: string } {
  const tokens = text.split(/\s+/);
  const comment = tokens.findIndex((token, index) => index >= 2 && token.startsWith('#'));
  const given = comment < 0 ? tokens : tokens.slice(0, comment);
  const [from = '', to = '', status = String(DEFAULT_STATUS)] = given;
  if (given.length < 2 || given.length > 3)
    throw new TypeError(`the line has ${given.length} parts, expected a source, a target and perhaps a status`);
  const found = STATUSES.find(each => String(each) === status);
  if (found === undefined) throw new TypeError(`the status is ${status}, expected one of ${STATUSES.join(', ')}`);
  if (/^[a-z]+:\/\//i.test(from)) throw new TypeError(`the source is ${from}, expected a path without a host`);
  const source = normalPath(from.startsWith('/') ? from : `/${from}`, false);
  const isUrl = /^https?:\/\//i.test(to);
  if (!isUrl && !to.startsWith('/'))
    throw new TypeError(`the target is ${to}, expected a path that begins with "/", or a URL of http or https`);
  if (isUrl && !URL.canParse(to.replace(/:[A-Za-z]\w*/g, 'x')))
    throw new TypeError(`the target ${to} is not a valid URL`);
  if (found === 200 && isUrl) throw new TypeError(`the target of a rule with status 200 is ${to}, expected a path`);
  return { source, target: isUrl ? to : normalPath(to, true), status: found };
}

/** The page at the target redirects to its shorter URL, which the rule matches again. */
function isEndless(source: string, target: string, isHtmlHandled: boolean): boolean {
  if (!target.startsWith('/') || !/\/index(?:\.html)?$/.test(target)) return false;
  return source.endsWith('/*') || (source.endsWith('/') && isHtmlHandled);
}

/** Two slashes at the start of a path would make the next segment a host. */
function cleaned(target: string): string {
  return target.startsWith('/') ? target.replace(/\/{2,}/g, '/') : target.trim();
}
