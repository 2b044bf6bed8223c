/** The files of rules in the folder of assets: how they are read, and errors with their lines. */
import { lstat, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { EdgeError, errorCode, messageOf } from '../../../quotas/errors.js';

const MAX_BYTES = 1024 * 1024;
/** The most errors of a file that are reported together. */
const MAX_ERRORS = 20;
/** The hosted platform has the same bound. */
export const MAX_LINE_LENGTH = 2000;

/** The text of a file of the folder, undefined without such a file. Rejects with EDGE_CONFIG_INVALID when it cannot be read or has more than 1 MiB. */
export async function readRuleFile(root: string, name: string): Promise<string | undefined> {
  const file = join(root, name);
  try {
    const stats = await lstat(file);
    if (!stats.isFile()) throw new Error('it is no file');
    if (stats.size > MAX_BYTES) throw new Error(`it has ${stats.size} bytes, at most ${MAX_BYTES} are allowed`);
    return await readFile(file, 'utf8');
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw new EdgeError('EDGE_CONFIG_INVALID', `Cannot read ${file}: ${messageOf(error)}`, {
      cause: error,
      location: { file },
    });
  }
}

/** One line that is neither empty nor a comment. */
export interface RuleLine {
  /** From 1 on. */
  readonly number: number;
  /** Without white space around it. */
  readonly text: string;
}

/** The lines of a file of rules, and its mistakes. */
export class RuleFile {
  readonly #file: string;
  readonly #text: string;
  readonly #errors: { readonly line: number; readonly message: string }[] = [];

  constructor(file: string, text: string) {
    this.#file = file;
    this.#text = text;
  }

  *lines(): Generator<RuleLine> {
    for (const [index, line] of this.#text.split('\n').entries()) {
      const text = line.trim();
      if (text === '' || text.startsWith('#')) continue;
      if (text.length <= MAX_LINE_LENGTH) yield { number: index + 1, text };
      else this.fail(index + 1, `the line has ${text.length} characters, at most ${MAX_LINE_LENGTH} are allowed`);
    }
  }

  fail(line: number, message: string): void {
    this.#errors.push({ line, message });
  }

  /** @throws EdgeError EDGE_CONFIG_INVALID with the lines of the mistakes */
  check(): void {
    const [first] = this.#errors;
    if (first === undefined) return;
    const shown = this.#errors.slice(0, MAX_ERRORS).map(({ line, message }) => `${this.#file}:${line}: ${message}`);
    const more = this.#errors.length - shown.length;
    if (more > 0) shown.push(`${this.#file}: ${more} more lines have mistakes`);
    throw new EdgeError('EDGE_CONFIG_INVALID', shown.join('\n'), { location: { file: this.#file, line: first.line } });
  }
}
