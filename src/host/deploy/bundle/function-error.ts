/** An error that prevents a function from being read, with a text for its author. */
import { relative } from 'node:path';
import process from 'node:process';
import { EdgeError, type SourceLocation } from '../../../quotas/errors.js';

export class FunctionError extends Error {
  override readonly name = 'FunctionError';
  declare readonly location?: SourceLocation;

  constructor(message: string, options: { readonly cause?: unknown; readonly location?: SourceLocation } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    if (options.location !== undefined) this.location = options.location;
  }
}

/** The same for callers of load(), by a code. */
export function bundlingError(error: FunctionError): EdgeError {
  const { message, location, cause } = error;
  const code = message.includes('It is not installed here')
    ? 'EDGE_NOT_SUPPORTED'
    : /^.*: (?:Could not resolve|No loader)/.test(message)
      ? 'EDGE_SCRIPT_IMPORT'
      : 'EDGE_SCRIPT_SYNTAX';
  return new EdgeError(code, `Cannot load the function: ${message}`, {
    cause: cause ?? error,
    ...(location !== undefined && { location }),
  });
}

/** Where an error says that something is wrong; undefined when it does not. */
export function locationOf(error: unknown): SourceLocation | undefined {
  return error instanceof FunctionError || error instanceof EdgeError ? error.location : undefined;
}

/** A path as the person who started the command would write it. */
export function shownPath(path: string): string {
  const shown = relative(process.cwd(), path);
  return shown === '' ? '.' : shown.startsWith('..') ? path : shown;
}
