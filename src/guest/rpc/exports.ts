/** Objects of this realm that others call: by number, each for as long as the invocation that has sent it, or until no one refers to it. */

import { type GuestInvocation, onExportsEnd } from '../events/invocation.ts';
import { arrayPush, MapCtor, mapDelete, mapGet, mapSet } from '../primordials.ts';
import { invoke, isCallable, isObject } from '../web/base/idl.ts';
import { disposeSymbol } from './dispose.ts';

interface Exported {
  readonly object: object;
  readonly by: GuestInvocation;
}

const exported = new MapCtor<number, Exported>();
const numbersOf = new MapCtor<number, number[]>();
let next = 1;

export function exportObject(object: object, invocation: GuestInvocation): number {
  const number = next++;
  invocation.hasExports = true;
  mapSet(exported, number, { object, by: invocation });
  const numbers = mapGet(numbersOf, invocation.id);
  if (numbers === undefined) mapSet(numbersOf, invocation.id, [number]);
  else arrayPush(numbers, number);
  return number;
}

export function exportedObject(number: number): object | undefined {
  return mapGet(exported, number)?.object;
}

/** The invocation that has sent it. */
export function exporterOf(number: number): GuestInvocation | undefined {
  return mapGet(exported, number)?.by;
}

/** No one refers to it any more. Calls its `[Symbol.dispose]()`. */
export function dropExport(number: number): void {
  const object = exportedObject(number);
  if (object === undefined) return;
  mapDelete(exported, number);
  try {
    const dispose: unknown = (object as { [key: symbol]: unknown })[disposeSymbol]; // every object can be read from
    if (isCallable(dispose) && isObject(object)) invoke(dispose, object, []);
  } catch {
    // Nobody waits for this call, so nobody can be notified.
  }
}

/** The object is exported again under another number. */
export function forgetExport(number: number): void {
  mapDelete(exported, number);
}

/** All that the invocation has sent. */
function dropExportsOf(invocation: number): void {
  const numbers = takeNumbers(invocation);
  for (let i = 0; i < numbers.length; i++) dropExport(numbers[i] ?? 0);
}

/** The same when no code of the function may run for it any more. */
function forgetExportsOf(invocation: number): void {
  const numbers = takeNumbers(invocation);
  for (let i = 0; i < numbers.length; i++) mapDelete(exported, numbers[i] ?? 0);
}

onExportsEnd((invocation, mayRun) => (mayRun ? dropExportsOf(invocation) : forgetExportsOf(invocation)));

const NONE: readonly number[] = [];

function takeNumbers(invocation: number): readonly number[] {
  const numbers = mapGet(numbersOf, invocation);
  if (numbers === undefined) return NONE;
  mapDelete(numbersOf, invocation);
  return numbers;
}
