/** FormData. @see https://xhr.spec.whatwg.org/#interface-formdata */
import { reflectApply, TypeErrorCtor } from '../../primordials.ts';
import { defineInterface, isCallable, requireArguments, toUSVString } from '../base/idl.ts';
import { createPairIterators, defineIterator } from '../base/iterable.ts';
import { type Blob, blobBytes, blobType, File, isBlob, isFile } from '../file/blob.ts';

export type FormEntry = readonly [name: string, value: string | File];

export let formEntries: (form: FormData) => FormEntry[];
export let isFormData: (value: unknown) => value is FormData;

export class FormData {
  #entries: FormEntry[] = [];

  constructor(form: unknown = undefined) {
    if (form !== undefined) throw new TypeErrorCtor('FormData constructor: there are no form elements in this runtime');
  }

  append(name: unknown, value: unknown, filename: unknown = undefined): void {
    const entries = this.#entries;
    requireArguments(arguments.length, 2, 'FormData.append');
    entries[entries.length] = toEntry(name, value, filename, arguments.length > 2, 'append');
  }

  delete(name: unknown): void {
    const entries = this.#entries;
    requireArguments(arguments.length, 1, 'FormData.delete');
    removeEntries(entries, toUSVString(name), 0);
  }

  get(name: unknown): string | File | null {
    const entries = this.#entries;
    requireArguments(arguments.length, 1, 'FormData.get');
    const key = toUSVString(name);
    for (let i = 0; i < entries.length; i++) {
      const entry = entries[i];
      if (entry !== undefined && entry[0] === key) return entry[1];
    }
    return null;
  }

  getAll(name: unknown): (string | File)[] {
    const entries = this.#entries;
    requireArguments(arguments.length, 1, 'FormData.getAll');
    const key = toUSVString(name);
    const values: (string | File)[] = [];
    for (let i = 0; i < entries.length; i++) {
      const entry = entries[i];
      if (entry !== undefined && entry[0] === key) values[values.length] = entry[1];
    }
    return values;
  }

  has(name: unknown): boolean {
    const entries = this.#entries;
    requireArguments(arguments.length, 1, 'FormData.has');
    const key = toUSVString(name);
    for (let i = 0; i < entries.length; i++) if (entries[i]?.[0] === key) return true;
    return false;
  }

  set(name: unknown, value: unknown, filename: unknown = undefined): void {
    const entries = this.#entries;
    requireArguments(arguments.length, 2, 'FormData.set');
    const entry = toEntry(name, value, filename, arguments.length > 2, 'set');
    for (let i = 0; i < entries.length; i++) {
      if (entries[i]?.[0] !== entry[0]) continue;
      entries[i] = entry;
      removeEntries(entries, entry[0], i + 1);
      return;
    }
    entries[entries.length] = entry;
  }

  entries(): IterableIterator<unknown> {
    return iterate(source(this.#entries), 'entries');
  }

  forEach(callback: unknown, thisArg: unknown = undefined): void {
    const entries = this.#entries;
    requireArguments(arguments.length, 1, 'FormData.forEach');
    if (!isCallable(callback)) throw new TypeErrorCtor('FormData.forEach: the callback is not a function');
    for (let i = 0; i < entries.length; i++) {
      const entry = entries[i];
      if (entry !== undefined) reflectApply(callback, thisArg, [entry[1], entry[0], this] as never); // takes anything
    }
  }

  keys(): IterableIterator<unknown> {
    return iterate(source(this.#entries), 'keys');
  }

  values(): IterableIterator<unknown> {
    return iterate(source(this.#entries), 'values');
  }

  static {
    formEntries = form => form.#entries;
    isFormData = (value): value is FormData => typeof value === 'object' && value !== null && #entries in value;
  }
}

const iterate = createPairIterators('FormData');
defineIterator(FormData, 'entries');
defineInterface(FormData, 'FormData');

function source(entries: FormEntry[]): { pairAt(index: number): FormEntry | undefined } {
  return { pairAt: index => entries[index] };
}

function removeEntries(entries: FormEntry[], name: string, from: number): void {
  let kept = from;
  for (let i = from; i < entries.length; i++) {
    const entry = entries[i];
    if (entry !== undefined && entry[0] !== name) entries[kept++] = entry;
  }
  entries.length = kept;
}

/** "Create an entry". @see https://html.spec.whatwg.org/#create-an-entry */
function toEntry(name: unknown, value: unknown, filename: unknown, hasFilename: boolean, method: string): FormEntry {
  const key = toUSVString(name);
  if (isBlob(value)) {
    const given = hasFilename && filename !== undefined ? toUSVString(filename) : undefined;
    return [key, toFile(value, given)];
  }
  if (hasFilename) throw new TypeErrorCtor(`FormData.${method}: a file name goes with a Blob only`);
  return [key, toUSVString(value)];
}

function toFile(value: Blob, filename: string | undefined): File {
  if (filename === undefined && isFile(value)) return value;
  const options = {
    __proto__: null,
    type: blobType(value),
    ...(isFile(value) && { lastModified: value.lastModified }),
  };
  return new File([blobBytes(value)], filename ?? 'blob', options);
}
