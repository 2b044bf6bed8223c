/**
 * Calls in source code: the paths of the schedule as they are written in most languages, with parameters filled in by
 * templates, formats or concatenation. Calls through a client library have no path and are not found.
 */

import { opendir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { endsRoutes, type ScheduledRow } from '../../management/deprecations/deprecation-timeline.js';
import type { Method } from '../../management/deprecations/deprecations.js';
import { parameterOf, splitPath } from '../../management/http/path-table.js';
import { type AuditFinding, type Auditor, methodOf } from './requests.js';

const EXTENSIONS = new Set(
  (
    'js mjs cjs jsx ts mts cts tsx vue svelte py go rb php java kt kts scala groovy rs cs fs vb swift dart ex exs erl lua pl pm r jl ' +
    'c h cc cpp hpp m mm sh bash zsh fish ps1 psm1 bat tf hcl json jsonc yml yaml toml http rest graphql sql html htm'
  ).split(' '),
);
const SKIPPED_FOLDERS = new Set([
  'node_modules',
  'bower_components',
  'vendor',
  '__pycache__',
  'target',
  'dist',
  'build',
]);
/** Larger files are bundles or data. */
const MAX_FILE_BYTES = 2 * 1024 ** 2;
/** Longer lines are minified code; what follows is not looked at. */
const MAX_LINE_CHARACTERS = 10_000;
/** How far below its path the method of a call may stand. */
const METHOD_LINES = 4;

/** Stands for a parameter; no source has it. */
const HOLE = '\u0001';

interface Pattern {
  readonly expression: RegExp;
  readonly row: ScheduledRow;
  readonly route: string | null;
  readonly methods: readonly Method[];
}

/** Whether a single file is source code, and not a recording: those come as JSON, text or without an extension. */
export function isSourceFile(file: string): boolean {
  const extension = extensionOf(file);
  return EXTENSIONS.has(extension) && !['json', 'jsonc', 'http'].includes(extension);
}

export class SourceScanner {
  readonly #auditor: Auditor;
  readonly #patterns: readonly Pattern[];

  constructor(auditor: Auditor) {
    this.#auditor = auditor;
    this.#patterns = auditor.schedule.rows.filter(row => !auditor.isIgnored(row)).flatMap(patternsOf);
  }

  /** Every file of source below a folder, in the order of their names. Links are not followed. */
  async *files(folder: string): AsyncGenerator<string> {
    const entries = [];
    for await (const entry of await opendir(folder)) entries.push(entry);
    entries.sort((a, b) => (a.name < b.name ? -1 : 1));
    for (const entry of entries) {
      const full = path.join(folder, entry.name);
      if (entry.isDirectory() && !entry.name.startsWith('.') && !SKIPPED_FOLDERS.has(entry.name))
        yield* this.files(full);
      else if (entry.isFile() && EXTENSIONS.has(extensionOf(entry.name))) yield full;
    }
  }

  async scanFile(file: string): Promise<AuditFinding[]> {
    if ((await stat(file)).size > MAX_FILE_BYTES) return [];
    return this.scanText(await readFile(file, 'utf8'), file);
  }

  scanText(text: string, file: string): AuditFinding[] {
    const findings: AuditFinding[] = [];
    const lines = text.split('\n');
    for (const [index, line] of lines.entries()) {
      const plain = line.slice(0, MAX_LINE_CHARACTERS);
      const holes = withHoles(plain);
      for (const { expression, row, route, methods } of this.#patterns) {
        // A word may stand in braces, which are a parameter of a path and the object of a request alike.
        const match = expression.exec(route === null ? plain : holes);
        if (match === null) continue;
        const method = route === null ? '*' : guessMethod(lines, index, methods);
        const found = match[0].replaceAll(HOLE, '{}');
        const where = { method, path: route === null ? found : `/${found}`, route, file, line: index + 1 };
        findings.push(this.#auditor.finding(row, where));
      }
    }
    return findings;
  }
}

/** `${x}`, `{x}`, `{{x}}`, `#{x}`, `:x`, `<x>`, `%s`, `$x`, and `" + x + "` of any kind of quote become one character. */
function withHoles(line: string): string {
  return line
    .replace(/[$#]?\{\{?[^{}]{0,200}\}\}?/g, HOLE)
    .replace(/(?<=\/)(?::[A-Za-z_]\w{0,60}|<[^<>]{1,60}>|%[sdvq]|\$\(?\w{1,60}\)?)/g, HOLE)
    .replace(/(?<=\/)["'`]\s{0,20}[+.]{1,2}\s{0,20}[^"'`+]{1,200}[+.]{1,2}\s{0,20}["'`](?=\/)/g, HOLE)
    .replace(/(?<=\/)["'`]\s{0,20}[+.]{1,2}\s{0,20}\w[\w.]{0,100}/g, HOLE);
}

/** One character class for a parameter: there is only one way to match, so no line can make it slow. */
function patternsOf(row: ScheduledRow): Pattern[] {
  if (row.change.kind === 'notice') {
    return row.change.words.map(word => ({ expression: new RegExp(`\\b${word}\\b`), row, route: null, methods: [] }));
  }
  if (!endsRoutes(row)) return [];
  return row.routes.map(({ methods, path: route }) => {
    const segments = splitPath(route).map(segment => {
      const parameter = parameterOf(segment);
      if (parameter === null) return segment.replace(/[^\w]/g, '\\$&');
      return parameter.rest ? `[\\w.~%/${HOLE}-]+` : `[\\w.~%${HOLE}-]+`;
    });
    const expression = new RegExp(`(?<![\\w-])${segments.join('/')}(?!/?[\\w${HOLE}-])`);
    return { expression, row, route, methods };
  });
}

function guessMethod(lines: readonly string[], index: number, methods: readonly Method[]): Method | '*' {
  const own = lines[index]?.slice(0, MAX_LINE_CHARACTERS) ?? '';
  const near =
    /(?:\.|\b)(get|post|put|patch|delete)\s*\(|(?:-X|--request)[\s=]*["']?(GET|POST|PUT|PATCH|DELETE)|\b(GET|POST|PUT|PATCH|DELETE)\b/i.exec(
      own,
    );
  const below = lines
    .slice(index, index + METHOD_LINES)
    .join('\n')
    .slice(0, MAX_LINE_CHARACTERS);
  const named = /\bmethod["']?\s*[:=]>?\s*["'`:]?(GET|POST|PUT|PATCH|DELETE)\b/i.exec(below);
  const guess = methodOf(named?.[1] ?? near?.[1] ?? near?.[2] ?? near?.[3] ?? '');
  const [only, second] = methods;
  if (guess !== '*' && methods.includes(guess)) return guess;
  return only !== undefined && second === undefined ? only : '*';
}

function extensionOf(file: string): string {
  return path.extname(file).slice(1).toLowerCase();
}
