/** The heads of calls between functions, checked: both ends are functions, and neither is trusted. */

import { MAX_SEQUENCES } from '../../bindings/callbacks/wire.js';
import {
  type BodyForm,
  type CallAnswer,
  MAX_CALL_BYTES,
  MAX_PATH,
  MAX_REFERENCES,
  type MethodCallArguments,
  type SentReference,
} from '../../bindings/function/wire.js';
import type { ServiceBody } from '../../bindings/service.js';
import { isObject } from '../../quotas/schema/describe.js';
import { isCount } from '../../quotas/schema/is-count.js';

/** @throws TypeError for a call that no client of ours sends, RangeError for one that is too large */
export function checkCall(args: unknown): MethodCallArguments {
  if (!isObject(args)) throw malformed('call');
  const { i, q, n, p, g, f } = args;
  if (![i, q, n].every(number => number === undefined || isCount(number))) throw malformed('call');
  if (i !== undefined && q !== undefined) throw malformed('call');
  if (!Array.isArray(p) || !p.every(name => typeof name === 'string')) throw malformed('call');
  if (p.length > MAX_PATH) throw new TypeError(`RPC pipelined property path is too deep (max ${MAX_PATH}).`);
  return {
    ...(isCount(i) && { i }),
    ...(isCount(q) && { q }),
    ...(isCount(n) && { n }),
    p,
    ...(g === true && { g }),
    ...formOf(args, 'call'),
    ...referencesOf(f, 'call'),
  };
}

/** @throws TypeError for an answer that no client of ours sends, RangeError for one that is too large */
export function checkAnswer(text: string): CallAnswer {
  if (text === '{}') return NOTHING_BESIDE;
  let head: unknown;
  try {
    head = JSON.parse(text);
  } catch {
    throw malformed('answer');
  }
  if (!isObject(head)) throw malformed('answer');
  const { f, k, l } = head;
  if (k !== undefined && !(Array.isArray(k) && k.length <= MAX_REFERENCES && k.every(isCount))) {
    throw malformed('answer');
  }
  if (l === true) return { l };
  return { ...formOf(head, 'answer'), ...referencesOf(f, 'answer'), ...(k !== undefined && { k }) };
}

const NOTHING_BESIDE: CallAnswer = Object.freeze({});

/** @throws RangeError when a body that is there whole is longer than a value may be */
export function checkSize(body: ServiceBody | null, what: string): void {
  if (body instanceof Uint8Array && body.byteLength > MAX_CALL_BYTES) throw tooLarge(what, body.byteLength);
}

function formOf({ b, s }: Readonly<Record<string, unknown>>, what: string): BodyForm {
  if (s !== undefined && typeof s !== 'boolean') throw malformed(what);
  if (b === undefined) return s === true ? { s } : {};
  if (!Array.isArray(b) || b.length > MAX_SEQUENCES + 1) throw malformed(what);
  let bytes = 0;
  for (const length of b) {
    if (!isCount(length)) throw malformed(what);
    bytes += length;
  }
  if (bytes > MAX_CALL_BYTES) throw tooLarge(what, bytes);
  return { b, ...(s === true && { s }) };
}

function referencesOf(f: unknown, what: string): { readonly f?: readonly SentReference[] } {
  if (f === undefined) return {};
  if (!Array.isArray(f) || f.length > MAX_REFERENCES || !f.every(isReference)) throw malformed(what);
  return f.length === 0 ? {} : { f };
}

function isReference(value: unknown): value is SentReference {
  return isObject(value) && (isCount(value.x) ? value.i === undefined : isCount(value.i) && value.x === undefined);
}

function malformed(what: string): TypeError {
  return new TypeError(`The ${what} is malformed`);
}

function tooLarge(what: string, bytes: number): RangeError {
  return new RangeError(`The ${what} has ${bytes} bytes, at most ${MAX_CALL_BYTES} are passed: pass a stream`);
}
