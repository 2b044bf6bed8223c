/**
 * The heap memory that a value takes once it is decoded, counted before that. Measured on Node 20.20 and 24.21: generated values take between half and 1.4
 * times the counted bytes. They take less where V8 shares names and texts, as Node 26 does with long names (test/bindings/callbacks/value-bytes.test.ts).
 */
import { isIndex, isSparseIndex } from '../../quotas/host/chosen-names.js';
import { MAX_DEPTH, MAX_NUMERIC_KEYS, MAX_OBJECTS, MAX_VALUES, TOO_MANY_PARTS } from './wire.js';

const SLOT_BYTES = 8;
const NUMBER_BYTES = 16;
const STRING_BYTES = 20;
const BIGINT_BYTES = 24;
/** An array with the head of its list. */
const ARRAY_BYTES = 48;
/** An object with its first four properties. */
const OBJECT_BYTES = 56;
const FIRST_PROPERTIES = 4;
/** The list of further ones, which grows by three. */
const MORE_BYTES = 40;
/** From this many properties on, an object that is built one property at a time is a dictionary. */
const DICTIONARY_FROM = 16;
const ENTRY_BYTES = 60;
/** A class of V8 for a property that no object has had behind the same ones, with its description and what refers to it. */
const SHAPE_BYTES = 120;
/** The shapes for which V8 makes classes. Further ones are not remembered, and each counts as new. */
const MAX_SHAPES = 2000;
/** The bytes of an object's first index, as a list and as a dictionary. */
const LIST_BYTES = 152;
const SPARSE_BYTES = 272;
const MAP_BYTES = 208;
const MAP_ENTRY_BYTES = 40;
const SET_BYTES = 152;
const SET_ENTRY_BYTES = 28;
const DATE_BYTES = 96;
/** With its stack, which refers to its texts. */
const ERROR_BYTES = 150;
/** A view takes this much, with the object of its buffer. */
const BYTES_BYTES = 200;
/** A stream takes this much, and so does the stand-in for an object of a function. */
const OTHER_BYTES = 600;

/** @throws RangeError or TypeError for a value that has more parts, or is nested deeper, than a function of this package sends */
export function heapBytesOfValue(encoded: unknown): number {
  const counter = new ValueCounter();
  counter.value(encoded, 0);
  return counter.bytes;
}

/** An object's properties in their order, as V8 tells its classes apart. */
interface Shape {
  readonly next: Map<string, Shape>;
}

class ValueCounter {
  bytes = 0;
  #values = 0;
  #objects = 0;
  #numericKeys = 0;
  #shapes = 0;
  readonly #empty: Shape = { next: new Map() };

  value(encoded: unknown, depth: number): void {
    if (++this.#values > MAX_VALUES) throw new RangeError(TOO_MANY_PARTS);
    if (typeof encoded === 'string') this.bytes += STRING_BYTES + encoded.length * 2;
    else if (typeof encoded === 'number') {
      // V8 keeps integers of 32 bits in their slots.
      if ((encoded | 0) !== encoded) this.bytes += NUMBER_BYTES;
    } else if (Array.isArray(encoded)) this.#list(encoded, depth);
  }

  #list(list: readonly unknown[], depth: number): void {
    if (depth > MAX_DEPTH) throw new TypeError('The arguments of the call are malformed');
    // This counts references to a value and stand-ins for primitives, too: they are arrays that were parsed.
    if (++this.#objects > MAX_OBJECTS) throw new RangeError(TOO_MANY_PARTS);
    const items = list.length - 1;
    switch (list[0]) {
      case 'a':
        this.bytes += ARRAY_BYTES + items * SLOT_BYTES;
        break;
      case 'o':
        this.#object(list, depth + 1);
        return;
      case 'm':
        this.bytes += MAP_BYTES + (items / 2) * MAP_ENTRY_BYTES;
        for (let at = 1; at < list.length; at += 2) this.#key(list[at]);
        break;
      case 's':
        this.bytes += SET_BYTES + items * SET_ENTRY_BYTES;
        for (let at = 1; at < list.length; at++) this.#key(list[at]);
        break;
      case 'e':
        this.bytes += ERROR_BYTES;
        break;
      case 'b':
        this.bytes += BYTES_BYTES;
        return;
      case 'd':
        this.bytes += DATE_BYTES;
        return;
      case 'i':
        this.bytes += BIGINT_BYTES + textLength(list[1]) / 2;
        return;
      case 'r':
      case 'u':
        return;
      case 'n':
        this.bytes += NUMBER_BYTES;
        return;
      default:
        this.bytes += OTHER_BYTES;
        return;
    }
    for (let at = 1; at < list.length; at++) this.value(list[at], depth + 1);
  }

  /** Counts a key of a Map or an item of a Set. */
  #key(encoded: unknown): void {
    const isNumeric =
      typeof encoded === 'number' || (Array.isArray(encoded) && (encoded[0] === 'i' || encoded[0] === 'n'));
    if (isNumeric && ++this.#numericKeys > MAX_NUMERIC_KEYS)
      throw new TypeError('The arguments of the call are malformed');
  }

  #object(list: readonly unknown[], depth: number): void {
    const count = (list.length - 1) / 2;
    const isDictionary = count > DICTIONARY_FROM;
    let shape: Shape | undefined = this.#empty;
    let named = 0;
    let indexes = 0;
    let isSparse = false;
    for (let at = 1; at < list.length; at += 2) {
      const name = list[at];
      if (typeof name === 'string') {
        if (isIndex(name)) {
          indexes++;
          isSparse ||= isSparseIndex(name, count);
        } else {
          named++;
          if (isDictionary) this.bytes += STRING_BYTES + name.length * 2;
          else shape = this.#shape(shape, name);
        }
      }
      this.value(list[at + 1], depth);
    }
    this.bytes += OBJECT_BYTES;
    if (isDictionary) this.bytes += named * ENTRY_BYTES;
    else if (named > FIRST_PROPERTIES) this.bytes += MORE_BYTES + (named - FIRST_PROPERTIES) * SLOT_BYTES;
    if (isSparse) this.bytes += SPARSE_BYTES + indexes * ENTRY_BYTES;
    else if (indexes > 0) this.bytes += LIST_BYTES + indexes * SLOT_BYTES;
  }

  /** The shape with one more property; undefined where shapes are not remembered any more. */
  #shape(shape: Shape | undefined, name: string): Shape | undefined {
    const known = shape?.next.get(name);
    if (known !== undefined) return known;
    this.bytes += SHAPE_BYTES + STRING_BYTES + name.length * 2;
    if (shape === undefined || this.#shapes >= MAX_SHAPES) return undefined;
    this.#shapes++;
    const made: Shape = { next: new Map() };
    shape.next.set(name, made);
    return made;
  }
}

function textLength(text: unknown): number {
  return typeof text === 'string' ? text.length : 0;
}
