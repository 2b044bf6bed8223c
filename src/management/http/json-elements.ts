/**
 * The elements of a JSON array, one at a time: a body of many megabytes as one value would stop everything else while it is parsed, and may take many times its
 * size. The structure of an element is bounded, apart from its texts, so parsing one costs about as much as copying it.
 */
import { ApiError } from './envelope.js';

export interface ElementBounds {
  readonly elements: number;
  /** Bytes of one element, its texts included. */
  readonly elementBytes: number;
  /** Bytes of one element outside of its texts, and white space before it. */
  readonly structureBytes: number;
}

/** Where an element is in the bytes. */
export interface JsonElement {
  readonly start: number;
  readonly end: number;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** An element is no valid JSON until it is parsed. @throws ApiError BAD_JSON, BODY_INVALID */
export function* jsonElements(bytes: Uint8Array, bounds: ElementBounds): Generator<JsonElement, void, undefined> {
  let at = skipSpace(bytes, 0, bounds.structureBytes);
  if (bytes[at] !== OPEN_ARRAY) throw new ApiError('BODY_INVALID', 'the body must be array');
  at = skipSpace(bytes, at + 1, bounds.structureBytes);
  if (bytes[at] === CLOSE_ARRAY) at += 1;
  else {
    for (let index = 0; ; index++) {
      if (index >= bounds.elements)
        throw new ApiError('BODY_INVALID', `the body must not have more than ${bounds.elements} items`);
      const end = endOf(bytes, at, index, bounds);
      if (end === at) throw badJson();
      yield { start: at, end };
      at = end + 1;
      if (bytes[end] === CLOSE_ARRAY) break;
    }
  }
  if (skipSpace(bytes, at, bounds.structureBytes) !== bytes.length) throw badJson();
}

/** Where the comma or bracket is that ends the element. */
function endOf(bytes: Uint8Array, start: number, index: number, bounds: ElementBounds): number {
  let depth = 0;
  let structure = 0;
  for (let at = start; at < bytes.length; at++) {
    const byte = bytes[at];
    if (depth === 0 && (byte === COMMA || byte === CLOSE_ARRAY)) return at;
    if (++structure > bounds.structureBytes) {
      throw new ApiError(
        'BODY_INVALID',
        `/${index} must not have more than ${bounds.structureBytes} bytes besides its texts`,
      );
    }
    if (byte === QUOTE) at = endOfText(bytes, at);
    else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) depth++;
    else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) depth--;
    if (at - start >= bounds.elementBytes) {
      throw new ApiError('BODY_INVALID', `/${index} must not have more than ${bounds.elementBytes} bytes as JSON`);
    }
  }
  throw badJson();
}

/** The quote that ends the text that begins at `start`. */
function endOfText(bytes: Uint8Array, start: number): number {
  for (let at = start; ; ) {
    at = bytes.indexOf(QUOTE, at + 1);
    if (at < 0) throw badJson();
    let first = at;
    while (bytes[first - 1] === BACKSLASH) first--;
    if ((at - first) % 2 === 0) return at;
  }
}

function skipSpace(bytes: Uint8Array, start: number, most: number): number {
  let at = start;
  while (at - start <= most && isSpace(bytes[at])) at++;
  return at;
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

function badJson(): ApiError {
  return new ApiError('BAD_JSON', 'The body is not valid JSON: it is no array of values');
}
