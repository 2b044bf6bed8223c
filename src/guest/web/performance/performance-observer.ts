/** PerformanceObserver for marks and measures. @see https://w3c.github.io/performance-timeline/#the-performanceobserver-interface */
import {
  arrayIndexOf,
  arrayPush,
  arraySlice,
  arraySort,
  arraySplice,
  objectFreeze,
  promiseResolve,
  promiseThen,
  TypeErrorCtor,
} from '../../primordials.ts';
import { DOMException } from '../base/dom-exception.ts';
import {
  type Callback,
  defineInterface,
  invoke,
  isCallable,
  requireArguments,
  toDictionary,
  toDOMString,
  toSequence,
} from '../base/idl.ts';
import { reportException } from '../events/error-reporting.ts';
import type { PerformanceEntry } from './performance-entry.ts';

const ENTRY_TYPES: readonly string[] = objectFreeze(['mark', 'measure']);

interface Registration {
  readonly observer: PerformanceObserver;
  readonly callback: Callback;
  types: string[];
  mode: 'none' | 'single' | 'multiple';
  queue: PerformanceEntry[];
  /** The callback hears once, and first, how many entries it missed: here none. */
  isFirst: boolean;
}

const registrations: Registration[] = [];
let isDelivering = false;
let pendingEntries: PerformanceEntry[] | undefined;
const timeline: { entries: () => readonly PerformanceEntry[] } = { entries: () => [] };

/** Buffered observers find the earlier entries here. */
export function setTimeline(entries: () => readonly PerformanceEntry[]): void {
  timeline.entries = entries;
}

export class PerformanceObserverEntryList {
  readonly #entries: PerformanceEntry[];

  constructor() {
    if (pendingEntries === undefined) throw new TypeErrorCtor('Illegal constructor');
    this.#entries = arraySort(pendingEntries, (a, b) => a.startTime - b.startTime);
    pendingEntries = undefined;
  }

  getEntries(): PerformanceEntry[] {
    return arraySlice(this.#entries);
  }

  getEntriesByType(type: unknown): PerformanceEntry[] {
    requireArguments(arguments.length, 1, 'getEntriesByType');
    return selectEntries(this.#entries, undefined, toDOMString(type));
  }

  getEntriesByName(name: unknown, type: unknown = undefined): PerformanceEntry[] {
    requireArguments(arguments.length, 1, 'getEntriesByName');
    return selectEntries(this.#entries, toDOMString(name), type === undefined ? undefined : toDOMString(type));
  }
}

defineInterface(PerformanceObserverEntryList);

export class PerformanceObserver {
  readonly #registration: Registration;

  constructor(callback: unknown) {
    requireArguments(arguments.length, 1, 'PerformanceObserver constructor');
    if (!isCallable(callback)) throw new TypeErrorCtor('The callback of the observer is not a function');
    this.#registration = { observer: this, callback, types: [], mode: 'none', queue: [], isFirst: true };
  }

  static get supportedEntryTypes(): readonly string[] {
    return ENTRY_TYPES;
  }

  observe(options: unknown = undefined): void {
    const { entryTypes, type, buffered } = toDictionary(options, 'The options of observe') ?? {};
    if (entryTypes === undefined && type === undefined) throw new TypeErrorCtor('Neither entryTypes nor type is given');
    if (entryTypes !== undefined && (type !== undefined || buffered !== undefined)) {
      throw new TypeErrorCtor('entryTypes cannot be given with type or buffered');
    }
    const registration = this.#registration;
    const mode = entryTypes === undefined ? 'single' : 'multiple';
    if (registration.mode !== 'none' && registration.mode !== mode) {
      throw new DOMException('The observer observes in another way already', 'InvalidModificationError');
    }
    registration.mode = mode;
    if (entryTypes !== undefined) {
      const types: string[] = [];
      for (const item of toSequence(entryTypes, toDOMString, 'entryTypes')) {
        if (arrayIndexOf(ENTRY_TYPES, item) >= 0) arrayPush(types, item);
      }
      if (types.length === 0) return;
      registration.types = types;
    } else {
      const text = toDOMString(type);
      if (arrayIndexOf(ENTRY_TYPES, text) < 0) return;
      if (arrayIndexOf(registration.types, text) < 0) arrayPush(registration.types, text);
      if (buffered) {
        const earlier = selectEntries(timeline.entries(), undefined, text);
        for (let i = 0; i < earlier.length; i++) arrayPush(registration.queue, earlier[i] as PerformanceEntry); // in bounds
        if (earlier.length > 0) scheduleDelivery();
      }
    }
    if (arrayIndexOf(registrations, registration) < 0) arrayPush(registrations, registration);
  }

  disconnect(): void {
    const index = arrayIndexOf(registrations, this.#registration);
    if (index >= 0) arraySplice(registrations, index, 1);
    this.#registration.queue = [];
    this.#registration.types = [];
    this.#registration.mode = 'none';
  }

  takeRecords(): PerformanceEntry[] {
    const { queue } = this.#registration;
    this.#registration.queue = [];
    return queue;
  }
}

defineInterface(PerformanceObserver);

export function notifyObservers(entry: PerformanceEntry): void {
  if (registrations.length === 0) return;
  let isWanted = false;
  for (let i = 0; i < registrations.length; i++) {
    const registration = registrations[i];
    if (registration === undefined || arrayIndexOf(registration.types, entry.entryType) < 0) continue;
    arrayPush(registration.queue, entry);
    isWanted = true;
  }
  if (isWanted) scheduleDelivery();
}

/** In a microtask: a task of its own would be a timer, which the global scope cannot have. */
function scheduleDelivery(): void {
  if (isDelivering) return;
  isDelivering = true;
  promiseThen(promiseResolve(undefined), () => {
    isDelivering = false;
    const observers = arraySlice(registrations);
    for (let i = 0; i < observers.length; i++) {
      const registration = observers[i];
      if (registration === undefined || registration.queue.length === 0) continue;
      pendingEntries = registration.queue;
      registration.queue = [];
      try {
        const list = new PerformanceObserverEntryList();
        const options = registration.isFirst ? { droppedEntriesCount: 0 } : {};
        registration.isFirst = false;
        invoke(registration.callback, registration.observer, [list, registration.observer, options]);
      } catch (error) {
        reportException(error);
      }
    }
  });
}

export function selectEntries(
  entries: readonly PerformanceEntry[],
  name: string | undefined,
  type: string | undefined,
): PerformanceEntry[] {
  const found: PerformanceEntry[] = [];
  for (let i = 0; i < entries.length; i++) {
    const entry = entries[i];
    if (entry === undefined) continue;
    if ((name === undefined || entry.name === name) && (type === undefined || entry.entryType === type)) {
      arrayPush(found, entry);
    }
  }
  return found;
}
