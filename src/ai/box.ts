/** The part of a sandbox that adapters use, and the texts of their answers. */

import type { AccountSandbox } from '../host/runs/sandbox.js';
import type { RunLog, RunResult } from '../host/runs/types.js';

/** A sandbox: `account.sandbox(options)`. */
export type Box = Pick<AccountSandbox, 'run' | 'types' | 'with'>;

/** The error of a run that has none of its own to tell. */
export interface PlainError {
  readonly name: string;
  readonly message: string;
  /** From 1, in the code as it was given. */
  readonly line?: number;
}

/** The place in the code, as stacks have it. */
const PLACE = /\brun\.js:(\d+):\d+/;

export function errorOf(result: Exclude<RunResult, { status: 'ok' }>): PlainError {
  if (result.status === 'paused')
    return {
      name: 'PausedError',
      message: `The run waits until somebody approves its call of ${result.paused.tool}()`,
    };
  const { error } = result;
  const line = PLACE.exec(error.stack)?.[1];
  return { name: error.name, message: error.message, ...(line !== undefined && { line: Number(line) }) };
}

/** Console output as text, with the level in front of all but plain lines. */
export function textsOf(logs: readonly RunLog[], mark: (level: RunLog['level']) => string): string[] {
  return logs.map(({ level, message }) => `${mark(level)}${message}`);
}

/** The usual mark: `[warn] `. */
export function bracketed(level: RunLog['level']): string {
  return level === 'log' ? '' : `[${level}] `;
}
