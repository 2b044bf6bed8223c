/**
 * Chooses the function that writes the stacks of this thread's errors (rule R4). By default that is a function of Node's, in the host realm, which the engine
 * calls while function code runs: an error that it throws for want of stack, or over an odd `name`, is a host object in the hands of the function. This one is
 * a function of a realm in which there is nothing else (neutral-realm.ts). So errors of the guest realm may keep the engine's stacks, including errors that the
 * engine throws.
 *
 * The replacement needs a function internal to Node: `--expose-internals` shows it to this thread alone, and before anything else is done with it all built-in
 * modules are closed again, the public ones too: code that gets hold of `require` cannot load any. With a changed Node, or without the flag, nothing is
 * replaced: the guest realm's errors then keep no native stacks (guest/errors.ts).
 */
import { createRequire } from 'node:module';
import vm from 'node:vm';
import { neutralRealm, type PlaceText, type StackFormatter } from './neutral-realm.js';
import type { SourcePlace } from './source-places.js';

/** Files of frames that are not the function's: ours by URL or path; the engine's and Node's. */
export const FOREIGN = /^(?:edgehost:|node:|file:|<anonymous>|\/|[A-Za-z]:[\\/])/;
export const SHOWN_FRAMES = 10;
const MAX_TEXT = 1_048_576;

/** Built-in modules that this thread loads later: the parser's bundle (lazy-parser.ts) begins with this one. */
const STILL_NEEDED: readonly string[] = ['url'];

/** The internals of Node that are used; undefined in versions of Node that do not have them. */
interface Internals {
  setFormatter(formatter: StackFormatter): void;
  close(): void;
}

let isTakenOver = false;
let placeOf = (place: SourcePlace): SourcePlace => place;

/** Whether errors of guest realms in this thread may keep native stacks. */
export function hasNativeStacks(): boolean {
  return isTakenOver;
}

/** Where code stands in what its author wrote, from now on. */
export function useStackPlaces(find: (place: SourcePlace) => SourcePlace): void {
  placeOf = find;
}

/** Once a thread, before it is hardened and before the first guest realm. */
export function takeOverStacks(): void {
  const internals = openInternals();
  if (internals === undefined) return;
  // This comes first, and is done even when the rest fails.
  internals.close();
  internals.setFormatter(createFormatter());
  isTakenOver = true;
}

export function createFormatter(): StackFormatter {
  const context = vm.createContext(vm.constants.DONT_CONTEXTIFY, { codeGeneration: { strings: false, wasm: false } });
  const code = `'use strict';(${neutralRealm.toString()})`;
  const make: typeof neutralRealm = vm.runInContext(code, context, {
    filename: 'edgehost:stacks',
    importModuleDynamically: refuseImport,
  });
  return make(FOREIGN.source, SHOWN_FRAMES, MAX_TEXT)(createPlaceText());
}

/** There is no import() in it. */
function refuseImport(): never {
  throw undefined;
}

/** Like the function of the bridge, it returns only text, and nothing leads from it to this realm (R6, R16, R17). */
function createPlaceText(): PlaceText {
  const placeText: PlaceText = (file, line, column) => {
    try {
      if (typeof file !== 'string' || typeof line !== 'number' || typeof column !== 'number') return '';
      const found = placeOf({ file, line, column });
      return `${found.file}:${found.line}:${found.column}`;
    } catch {
      return '';
    }
  };
  Reflect.deleteProperty(placeText, 'name');
  Reflect.deleteProperty(placeText, 'length');
  Object.setPrototypeOf(placeText, null);
  return Object.freeze(placeText);
}

/** Everything is looked at before it is used, since a later Node may have it otherwise. */
function openInternals(): Internals | undefined {
  const load = createRequire(import.meta.url);
  try {
    const builtin: unknown = Reflect.apply(methodOf(load('internal/modules/helpers'), 'loadBuiltinModule'), undefined, [
      'internal/util',
    ]);
    const BuiltinModule: unknown = typeof builtin === 'object' && builtin !== null ? builtin.constructor : undefined;
    const allow = methodOf(BuiltinModule, 'setRealmAllowRequireByUsers');
    const binding = methodOf(load('internal/test/binding'), 'internalBinding');
    const set = methodOf(Reflect.apply(binding, undefined, ['errors']), 'setPrepareStackTraceCallback');
    return {
      setFormatter: formatter => void Reflect.apply(set, undefined, [formatter]),
      close: () => {
        Reflect.apply(allow, BuiltinModule, [STILL_NEEDED]);
        if (isOpen(load, 'internal/util') || isOpen(load, 'node:fs'))
          throw new Error('The internal modules of Node are open');
      },
    };
  } catch {
    return undefined;
  }
}

function isOpen(load: (id: string) => unknown, id: string): boolean {
  try {
    load(id);
    return true;
  } catch {
    return false;
  }
}

type Method = (...args: unknown[]) => unknown;

function methodOf(owner: unknown, name: string): Method {
  const value: unknown =
    (typeof owner === 'object' && owner !== null) || typeof owner === 'function' ? Reflect.get(owner, name) : undefined;
  if (typeof value !== 'function') throw new TypeError(`Node has no internal ${name}()`);
  return value as Method; // a function, whose parameters the caller knows
}
