/**
 * Ids of stateful objects: 64 hex digits. The first 48 are random or follow from a name, the others are a mark of the namespace, by which an id of another
 * one is known. The guest makes the same ids (guest/objects/object-id.ts).
 */
import { createHash, randomBytes } from 'node:crypto';

const BODY_DIGITS = 48;
const MARK_DIGITS = 16;

/** The key from which the ids of a namespace are made, as 64 hex digits. It is no secret: every caller of the namespace knows it. */
export function namespaceKey(account: string, functionName: string, className: string): string {
  return sha256(JSON.stringify([account, functionName, className]));
}

export function idFromName(key: string, name: string): string {
  return marked(key, sha256(`${key}\nname\n${name}`).slice(0, BODY_DIGITS));
}

export function newId(key: string): string {
  return marked(key, randomBytes(BODY_DIGITS / 2).toString('hex'));
}

/** Whether it is an id of the namespace, in lower case. */
export function isIdOf(key: string, id: string): boolean {
  return isObjectId(id) && marked(key, id.slice(0, BODY_DIGITS)) === id;
}

export function isObjectId(id: string): boolean {
  return /^[0-9a-f]{64}$/.test(id);
}

function marked(key: string, body: string): string {
  return body + sha256(`${key}\nid\n${body}`).slice(0, MARK_DIGITS);
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
