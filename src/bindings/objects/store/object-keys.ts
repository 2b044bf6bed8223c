/**
 * Where stateful objects keep their records in the storage. Ids of spaces and of values are made by the host and hold no "/"; names are encoded for URIs.
 *
 *     zos<account>                                                the space of an account: all that its objects have
 *     zoh<space>/<function>/<class>/<object>                      an object: what it has stored, and its alarm
 *     zok<values id>/<key>                                        a value
 *     zq<values id>/<number>                                      a page of its database, 8 hexadecimal digits
 *     zog<values id>                                              values that no object has any more: they are being removed
 *     zor<space>                                                  the space of an account that was removed
 *     za<space>/<function>/<due>/<class>/<object>                 an alarm, by when it is due
 */
import type { ObjectRef } from '../object-ref.js';

const DUE_DIGITS = 16;

export const objectKeys = {
  space: (account: string) => `zos${encodeURIComponent(account)}`,
  spaces: () => 'zos',
  heads: (space: string) => `zoh${space}/`,
  head: (space: string, { functionName, className, id }: ObjectRef) =>
    `zoh${space}/${encodeURIComponent(functionName)}/${encodeURIComponent(className)}/${id}`,
  values: (valuesId: string) => `zok${valuesId}/`,
  allValues: () => 'zok',
  pages: (valuesId: string) => `zq${valuesId}/`,
  page: (valuesId: string, number: number) => `zq${valuesId}/${number.toString(16).padStart(8, '0')}`,
  allPages: () => 'zq',
  gone: (valuesId: string) => `zog${valuesId}`,
  allGone: () => 'zog',
  removed: (space: string) => `zor${space}`,
  allRemoved: () => 'zor',
  /** The prefix of the alarms of one function, or of all. */
  alarms: (space: string, functionName?: string) =>
    functionName === undefined ? `za${space}/` : `za${space}/${encodeURIComponent(functionName)}/`,
  alarm: (space: string, { functionName, className, id }: ObjectRef, dueMs: number) =>
    `${objectKeys.alarms(space, functionName)}${String(dueMs).padStart(DUE_DIGITS, '0')}/${encodeURIComponent(className)}/${id}`,
} as const;

export const OBJECT_KEYSPACE: readonly string[] = ['zo', 'za', 'zq'];

/** The object of a head, without its account. */
export function refOfHead(key: string, space: string): Omit<ObjectRef, 'account'> {
  const [functionName = '', className = '', id = ''] = key.slice(objectKeys.heads(space).length).split('/');
  return { functionName: decodeURIComponent(functionName), className: decodeURIComponent(className), id };
}

/** Parses the part of an alarm's key behind the function. */
export function parseAlarmPlace(place: string): {
  readonly dueMs: number;
  readonly className: string;
  readonly id: string;
} {
  const [due = '', className = '', id = ''] = place.split('/');
  return { dueMs: Number(due), className: decodeURIComponent(className), id };
}

/** Names an object in memory. No part of it has a line break. */
export function refKey({ account, functionName, className, id }: ObjectRef): string {
  return `${account}\n${functionName}\n${className}\n${id}`;
}
