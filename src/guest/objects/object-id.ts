/** Ids of stateful objects, made as the host makes them (bindings/objects/object-id.ts). */
import { Op } from '../../isolate/ops/table.ts';
import { op, opBytes, opNumber } from '../bridge.ts';
import { jsonStringify, stringSlice, stringToLowerCase, TypeErrorCtor, Uint8ArrayCtor } from '../primordials.ts';
import { encodeUtf8 } from '../utf8.ts';
import { defineInterface } from '../web/base/idl.ts';

const BODY_DIGITS = 48;
const ID_DIGITS = 64;
const DIGITS = '0123456789abcdef';

let construction: { readonly hex: string; readonly name: string | undefined } | undefined;

/** The digits of an id; undefined for a value that is no id of this realm. */
export let hexOf: (id: unknown) => string | undefined;
/** The name that it was made from. */
export let nameOf: (id: unknown) => string | undefined;

export class StatefulId {
  readonly #hex: string;
  readonly #name: string | undefined;

  constructor() {
    if (construction === undefined) throw new TypeErrorCtor('Illegal constructor');
    this.#hex = construction.hex;
    this.#name = construction.name;
    construction = undefined;
  }

  /** The name that it was made from; undefined for other ids. */
  get name(): string | undefined {
    return this.#name;
  }

  equals(other: unknown): boolean {
    return hexOf(other) === this.#hex;
  }

  toString(): string {
    return this.#hex;
  }

  static {
    hexOf = id => (typeof id === 'object' && id !== null && #hex in id ? id.#hex : undefined);
    nameOf = id => (typeof id === 'object' && id !== null && #hex in id ? id.#name : undefined);
  }
}

defineInterface(StatefulId);

export function createId(hex: string, name: string | undefined): StatefulId {
  construction = { hex, name };
  return new StatefulId();
}

export function hexOfName(key: string, name: string): string {
  return marked(key, stringSlice(sha256(`${key}\nname\n${name}`), 0, BODY_DIGITS));
}

export function newHex(key: string): string {
  const bytes = new Uint8ArrayCtor(BODY_DIGITS / 2);
  op(Op.Random, bytes);
  return marked(key, hexText(bytes));
}

/** The id that the text is, in lower case. @throws TypeError */
export function parseHex(key: string, text: string): string {
  const hex = stringToLowerCase(text);
  if (!isHex(hex)) throw new TypeErrorCtor('Invalid object ID: must be 64 hex digits');
  if (marked(key, stringSlice(hex, 0, BODY_DIGITS)) !== hex) {
    throw new TypeErrorCtor(`Object ID ${jsonStringify(hex)} is not valid for this namespace.`);
  }
  return hex;
}

function isHex(text: string): boolean {
  if (text.length !== ID_DIGITS) return false;
  for (let i = 0; i < ID_DIGITS; i++) {
    const digit = text[i] ?? '';
    if (!((digit >= '0' && digit <= '9') || (digit >= 'a' && digit <= 'f'))) return false;
  }
  return true;
}

function marked(key: string, body: string): string {
  return body + stringSlice(sha256(`${key}\nid\n${body}`), 0, ID_DIGITS - BODY_DIGITS);
}

function sha256(text: string): string {
  // While this lives, so does the digest in the host realm.
  const token = new Uint8ArrayCtor(0);
  const id = opNumber(Op.DigestOpen, 'SHA-256', token);
  op(Op.DigestUpdate, id, encodeUtf8(text));
  const digest = opBytes(Op.DigestFinish, id);
  void token;
  return hexText(digest);
}

function hexText(bytes: Uint8Array): string {
  let text = '';
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i] ?? 0;
    text += (DIGITS[byte >> 4] ?? '') + (DIGITS[byte & 15] ?? '');
  }
  return text;
}
