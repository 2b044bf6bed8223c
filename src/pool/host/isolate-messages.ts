/** Parses the messages of an isolate. An isolate may be compromised: every field is checked. */

import { ProtocolError } from '../../protocol/frames/protocol-error.js';
import {
  HANDLERS,
  HAS_OBJECTS,
  type HandlerFailure,
  type LoadAnswer,
  type ScriptFailure,
} from '../../protocol/messages.js';
import { isObject } from '../../quotas/schema/describe.js';
import { printable } from './printable.js';

const MAX_TEXT = 64 * 1024;
const SCRIPT_FAILURES: readonly ScriptFailure['code'][] = [
  'EDGE_SCRIPT_SYNTAX',
  'EDGE_SCRIPT_THREW',
  'EDGE_SCRIPT_IMPORT',
  'EDGE_SCRIPT_NO_HANDLER',
  'EDGE_STARTUP_LIMIT',
];

export function parseLoadAnswer(text: string): LoadAnswer {
  const value = parseObject(text);
  if (
    value.kind === 'loaded' &&
    Array.isArray(value.handlers) &&
    typeof value.startupTimeMs === 'number' &&
    value.startupTimeMs >= 0
  ) {
    const reported: readonly unknown[] = value.handlers;
    const handlers = [...HANDLERS, HAS_OBJECTS].filter(handler => reported.includes(handler));
    return { kind: 'loaded', handlers, startupTimeMs: value.startupTimeMs };
  }
  if (value.kind === 'failed' && isObject(value.failure)) {
    const { failure } = value;
    const code = SCRIPT_FAILURES.find(known => known === failure.code);
    if (code !== undefined) {
      return {
        kind: 'failed',
        failure: {
          code,
          name: textOf(failure.name) || 'Error',
          message: textOf(failure.message),
          stack: textOf(failure.stack),
          ...(typeof failure.file === 'string' && { file: textOf(failure.file) }),
          ...(typeof failure.line === 'number' && { line: failure.line }),
          ...(typeof failure.column === 'number' && { column: failure.column }),
        },
      };
    }
  }
  throw new ProtocolError('The answer to a load is malformed');
}

const FAILURES = ['EDGE_NO_RESPONSE', 'EDGE_OBJECT_RESET'] as const;

export function parseHandlerFailure(text: string): HandlerFailure {
  const value = parseObject(text);
  return {
    code: FAILURES.find(code => code === value.code) ?? 'EDGE_HANDLER_THREW',
    name: textOf(value.name) || 'Error',
    message: textOf(value.message),
    stack: textOf(value.stack),
  };
}

/** The invocation in whose turn the isolate ended, and its usage, which the thread pool writes before the message (see thread-pool.ts). */
export function parseUsage(text: string): {
  readonly invocation: number;
  readonly usage: { readonly cpuMs: number; readonly memoryBytes: number };
  readonly detail: string;
} {
  const [line = '', invocation = 0, cpuMs = 0, memoryBytes = 0] =
    /^(\d{1,10}) (\d{1,15}(?:\.\d{1,3})?) (\d{1,15})\n/.exec(text) ?? [];
  return {
    invocation: Number(invocation),
    usage: { cpuMs: Number(cpuMs), memoryBytes: Number(memoryBytes) },
    detail: printable(text.slice(line.length)),
  };
}

function parseObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (isObject(value)) return value;
  } catch {
    // Falls through: text that is not JSON is as malformed as JSON that is no object.
  }
  throw new ProtocolError('A message is not a JSON object');
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value.slice(0, MAX_TEXT) : '';
}
