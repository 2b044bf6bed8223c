/** What is known of each test: how many subtests pass, and why the others do not. */
import { readFileSync, writeFileSync } from 'node:fs';
import type { RunResult } from './program.js';

export interface FileExpectation {
  readonly passed: number;
  /** Subtests that fail, by name, with the reason. */
  readonly failed?: Readonly<Record<string, string>>;
  /** The file as a whole gives no results, or the harness reports an error: the reason. */
  readonly broken?: string;
}

export interface Expectations {
  /** The major version of Node that they were recorded with. */
  readonly node: number;
  /** Files and folders (with a slash at the end) that are not run, with the reason. */
  readonly skipped: Readonly<Record<string, string>>;
  /** Why subtests fail, by a pattern of path and message: how `--update` explains failures that are new. */
  readonly reasons: Readonly<Record<string, string>>;
  /** By path and variant. */
  readonly files: Record<string, FileExpectation>;
}

export const UNEXPLAINED = 'to be explained: ';

export function readExpectations(file: URL): Expectations {
  return JSON.parse(readFileSync(file, 'utf8'));
}

export function writeExpectations(file: URL, expectations: Expectations): void {
  const files = Object.fromEntries(Object.entries(expectations.files).sort(([a], [b]) => (a < b ? -1 : 1)));
  writeFileSync(
    file,
    `${JSON.stringify({ node: expectations.node, skipped: expectations.skipped, reasons: expectations.reasons, files }, undefined, 2)}\n`,
  );
}

/** What a run gave, in the form of an expectation; reasons that are known are kept. */
export function toExpectation(
  path: string,
  result: RunResult | Error,
  expectations: Pick<Expectations, 'reasons' | 'files'>,
): FileExpectation {
  const known = expectations.files[path];
  const explain = (old: string | undefined, message: string): string => {
    if (old !== undefined && !old.startsWith(UNEXPLAINED)) return old;
    const found = Object.entries(expectations.reasons).find(([pattern]) =>
      new RegExp(pattern).test(`${path} ${message}`),
    );
    return found === undefined ? UNEXPLAINED + message.slice(0, 200).replace(/[^\x20-\x7e]/g, '?') : found[1];
  };
  if (result instanceof Error) return { passed: 0, broken: explain(known?.broken, result.message) };
  const failed: Record<string, string> = {};
  let passed = 0;
  for (const { name, status, message } of result.subtests) {
    if (status === 0) passed++;
    else failed[name] = explain(known?.failed?.[name], message ?? 'no result');
  }
  return {
    passed,
    ...(Object.keys(failed).length > 0 && { failed }),
    ...(result.status !== 0 && { broken: explain(known?.broken, result.message ?? '') }),
  };
}

/** Without the failures that plain Node has as well, which count as passed. */
export function withoutFailuresOf(node: RunResult | Error, now: FileExpectation): FileExpectation {
  if (node instanceof Error) return now;
  const passesInNode = new Set(node.subtests.filter(({ status }) => status === 0).map(({ name }) => name));
  const failed = Object.entries(now.failed ?? {});
  const own = failed.filter(([name]) => passesInNode.has(name));
  return { ...now, failed: Object.fromEntries(own), passed: now.passed + failed.length - own.length };
}

/** What got worse, in words. */
export function regressions(path: string, now: FileExpectation, known: FileExpectation | undefined): string[] {
  const found: string[] = [];
  if (now.broken !== undefined && known?.broken === undefined) found.push(`${path}: ${now.broken}`);
  for (const [name, reason] of Object.entries(now.failed ?? {})) {
    if (known?.failed?.[name] === undefined) found.push(`${path}: "${name}": ${reason}`);
  }
  if (known !== undefined && now.passed < known.passed && found.length === 0) {
    found.push(`${path}: ${now.passed} subtests pass, ${known.passed} are expected to`);
  }
  return found;
}
