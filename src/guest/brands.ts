/** Determines the kind of an object by its internal slots. */
import {
  arrayBufferByteLength,
  getPrototypeOf,
  getterOf,
  isArray,
  isView,
  objectToString,
  typedArrayName,
  uncurry,
} from './primordials.ts';
import { isDOMException } from './web/base/dom-exception.ts';

export type Brand = 'Array' | 'DataView' | 'Object' | 'TypedArray' | ProbedBrand;

type ProbedBrand =
  | 'ArrayBuffer'
  | 'BigInt'
  | 'Boolean'
  | 'Date'
  | 'Map'
  | 'Number'
  | 'RegExp'
  | 'Set'
  | 'String'
  | 'Symbol'
  | 'WeakMap'
  | 'WeakRef'
  | 'WeakSet';

type Probe = (value: unknown) => unknown;

const weakKey = {};
const weakMapHas = uncurry(WeakMap.prototype.has) as (self: unknown, key: object) => boolean;
const weakSetHas = uncurry(WeakSet.prototype.has) as (self: unknown, key: object) => boolean;
const regExpFlag = getterOf<boolean>(RegExp.prototype, 'global');
const RegExpPrototype: object = RegExp.prototype;

const hasErrorSlot: ((value: unknown) => boolean) | undefined = Object.getOwnPropertyDescriptor(
  Error,
  'isError',
)?.value;

/** In the order of how common they are; each probe throws for every other kind of object. */
const probes: readonly (readonly [ProbedBrand, Probe])[] = [
  ['Map', getterOf<number>(Map.prototype, 'size')],
  ['Set', getterOf<number>(Set.prototype, 'size')],
  ['Date', uncurry(Date.prototype.getTime) as Probe],
  ['ArrayBuffer', arrayBufferByteLength],
  ['RegExp', value => regExpFlag(value === RegExpPrototype ? undefined : value)],
  ['Boolean', uncurry(Boolean.prototype.valueOf) as Probe],
  ['Number', uncurry(Number.prototype.valueOf) as Probe],
  ['String', uncurry(String.prototype.valueOf) as Probe],
  ['BigInt', uncurry(BigInt.prototype.valueOf) as Probe],
  ['Symbol', uncurry(Symbol.prototype.valueOf) as Probe],
  ['WeakMap', value => weakMapHas(value, weakKey)],
  ['WeakSet', value => weakSetHas(value, weakKey)],
  ['WeakRef', uncurry(WeakRef.prototype.deref) as Probe],
];

/** The probe that the value's own tag suggests is tried first, so that most values take one probe. */
const likelyKinds: { readonly [tag: string]: (typeof probes)[number] | undefined } = Object.assign(
  Object.create(null),
  ...probes.map(entry => ({ [`[object ${entry[0]}]`]: entry })),
);

export function brandOf(value: object): Brand {
  if (isArray(value)) return 'Array';
  // From Node 24 on the exception of a probe contains the message of an error, which can have any length.
  if (hasErrorSlot?.(value) === true) return 'Object';
  if (isView(value)) return typedArrayName(value) === undefined ? 'DataView' : 'TypedArray';
  const tag = tagOf(value);
  if (tag === '[object Object]') return 'Object';
  const likely = likelyKinds[tag];
  if (likely !== undefined && passes(likely[1], value)) return likely[0];
  for (let i = 0; i < probes.length; i++) {
    const entry = probes[i];
    if (entry !== undefined && entry !== likely && passes(entry[1], value)) return entry[0];
  }
  return 'Object';
}

function passes(probe: Probe, value: object): boolean {
  try {
    probe(value);
    return true;
  } catch {
    return false;
  }
}

/** The engine's own tag of a value that has no @@toStringTag, which distinguishes plain objects from the rest at once. */
function tagOf(value: object): string {
  try {
    return objectToString(value);
  } catch {
    return '';
  }
}

const ErrorPrototype: object = Error.prototype;

/** Whether the value was made by an Error constructor, or is a DOMException. */
export function isError(value: object): boolean {
  if (isDOMException(value)) return true;
  if (hasErrorSlot !== undefined) return hasErrorSlot(value);
  const tag = tagOf(value);
  if (tag === '[object Error]') return true;
  if (tag === '[object Object]') return false;
  // A @@toStringTag hides the engine's tag: what inherits from Error.prototype then counts.
  let prototype = getPrototypeOf(value);
  for (let hops = 0; prototype !== null && hops < 64; hops++) {
    if (prototype === ErrorPrototype) return true;
    prototype = getPrototypeOf(prototype);
  }
  return false;
}
