/** The errors of runs, in words about runs and with the places in the code. */
import { EdgeError, type EdgeErrorCode } from '../../quotas/errors.js';
import type { RunError } from './types.js';

/** The codes of limits, whose errors may come without the limit itself. */
const LIMITS: ReadonlySet<EdgeErrorCode> = new Set([
  'EDGE_CPU_LIMIT',
  'EDGE_MEMORY_LIMIT',
  'EDGE_WALL_TIME_LIMIT',
  'EDGE_LIMIT_EXCEEDED',
  'EDGE_RATE_LIMITED',
  'EDGE_DAILY_LIMIT',
]);

export function isLimit({ code, limit }: EdgeError): boolean {
  return limit !== undefined || LIMITS.has(code);
}

/** The limits of invocations that a sandbox sets. Errors of others name the option of the account. */
const OF_SANDBOX: ReadonlySet<string> = new Set(['cpuMs', 'wallMs', 'memoryBytes']);

/** Where the code does not parse, at the end of the message. */
const PLACE = /^(.*) \((run\.js:\d+:\d+)\)$/s;

/** An exception of the code is the cause. Every other error has no place in the code, and is about the run. */
export function runError(error: EdgeError, subject: string): RunError {
  const { code, cause } = error;
  if (code !== 'EDGE_HANDLER_THREW' || !(cause instanceof Error)) {
    const message = messageOf(error, subject);
    return { name: error.name, message, code, stack: `${error.name}: ${message}` };
  }
  const { name, message, stack = '' } = cause;
  const [, text, place] = name === 'SyntaxError' ? (PLACE.exec(message) ?? []) : [];
  if (text === undefined || stack.includes('\n    at ')) return { name, message, code, stack };
  return { name, message, code: 'EDGE_SCRIPT_SYNTAX', stack: `${name}: ${text}\n    at ${place}` };
}

/** The errors of functions say what they are about in the words of functions. */
function messageOf({ code, message, limit }: EdgeError, subject: string): string {
  if (code === 'EDGE_HANDLER_STALLED')
    return `Cannot ${subject}: it waits for a promise, and no timer, call or other work is pending that could settle it`;
  if (limit === undefined || !OF_SANDBOX.has(limit.name) || code === 'EDGE_LIMIT_EXCEEDED') return message;
  const about = message.slice(message.indexOf(': ') + 2);
  return `Cannot ${subject}: ${about.replace(/ \(plan .*$/, ` (option limits.${limit.name} of sandbox())`)}`;
}

export function messageIn({ cause, message }: EdgeError): string {
  return cause instanceof Error ? cause.message : message;
}

export function toEdgeError(error: unknown): EdgeError {
  if (error instanceof EdgeError) return error;
  const { name, message } = error instanceof Error ? error : { name: 'Error', message: String(error) };
  const cause = new Error(message);
  cause.name = name;
  cause.stack = `${name}: ${message}`;
  return new EdgeError('EDGE_HANDLER_THREW', message, { cause });
}
