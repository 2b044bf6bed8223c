/** The events that `dev` and `serve` report: one shape for readable lines and for the lines of `--json`. */
import type { InvocationEvent, LogEvent } from '../../host/events.js';
import type { SourceLocation } from '../../quotas/errors.js';

export interface ServedFunction {
  readonly account: string;
  readonly name: string;
  /** Where it answers. */
  readonly urls: readonly string[];
}

export type ServerEvent =
  | {
      readonly type: 'listening';
      readonly url: string;
      readonly functions: readonly ServedFunction[];
      /** How accounts are separated, in one line; undefined when no function has been loaded. */
      readonly sandbox: string | undefined;
    }
  | {
      readonly type: 'loaded';
      readonly account: string;
      readonly function: string;
      readonly version: string;
      readonly isReload: boolean;
      readonly isBundled: boolean;
      /** From the change of a file, or the beginning of the loading, until the version serves. */
      readonly tookMs: number;
      /** The part of it that the function's global scope took. */
      readonly startupMs: number;
    }
  | { readonly type: 'unloaded'; readonly account: string; readonly function: string }
  | {
      readonly type: 'error';
      readonly function: string;
      readonly code: string | undefined;
      readonly message: string;
      readonly location: SourceLocation | undefined;
      /** Whether the previous version continues to serve. */
      readonly isServing: boolean;
    }
  | ({
      readonly type: 'invocation';
      /** A remark on its error. */
      readonly hint?: string;
    } & InvocationEvent)
  | ({ readonly type: 'log' } & LogEvent)
  /** A request that was answered before any function saw it. */
  | {
      readonly type: 'refused';
      readonly method: string;
      readonly path: string;
      readonly status: number;
      readonly message: string;
    }
  | { readonly type: 'warning'; readonly code: string | undefined; readonly message: string }
  /** The output of the command that builds a function. */
  | { readonly type: 'build'; readonly function: string; readonly message: string }
  /** Something was done before a function was loaded. */
  | { readonly type: 'notice'; readonly message: string }
  | { readonly type: 'stopping' }
  | { readonly type: 'stopped' };

export type Report = (event: ServerEvent) => void;
