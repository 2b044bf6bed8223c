import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RouteMode } from '../../../quotas/requests/admission.js';
import type { FunctionRunner } from '../../invocation/function-runner.js';
import type { Coding } from '../compression/accepted-coding.js';
import type { Next } from '../node-sink.js';
import type { Fill } from './fill.js';

/** A request that has reached a function. */
export interface Visit {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly next: Next | undefined;
  readonly url: string;
  readonly runner: FunctionRunner;
  /** The codings that the response may be compressed with. */
  readonly codings: readonly Coding[];
  readonly mode: RouteMode;
  /** Runs the function for it. With a fill, that hears of the answer. */
  readonly run: (fill?: Fill) => void;
  /** The head of a GET of the same URL with these headers, for the function. */
  readonly headOf: (rawHeaders: readonly string[]) => string;
}
