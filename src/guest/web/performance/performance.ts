/** performance with user timing. @see https://w3c.github.io/user-timing/ and https://w3c.github.io/hr-time/ */
import { arrayPush, arraySlice, arraySort, TypeErrorCtor } from '../../primordials.ts';
import { monotonicNow, wallNow } from '../base/clock.ts';
import { DOMException } from '../base/dom-exception.ts';
import { defineInterface, isObject, requireArguments, toDictionary, toDOMString, toDouble } from '../base/idl.ts';
import { EventTarget } from '../events/event-target.ts';
import { createMeasure, type PerformanceEntry, PerformanceMark, type PerformanceMeasure } from './performance-entry.ts';
import { notifyObservers, selectEntries, setTimeline } from './performance-observer.ts';

/** Marks and measures kept; the oldest are dropped for more, so that a function that never clears them stays small. */
const MAX_ENTRIES = 10_000;

let isConstructing = false;
let timeOrigin: number | undefined;

export class Performance extends EventTarget {
  #entries: PerformanceEntry[] = [];

  constructor() {
    if (!isConstructing) throw new TypeErrorCtor('Illegal constructor');
    super();
    setTimeline(() => this.#entries);
  }

  now(): number {
    void this.#entries;
    return monotonicNow();
  }

  get timeOrigin(): number {
    void this.#entries;
    timeOrigin ??= wallNow() - monotonicNow();
    return timeOrigin;
  }

  mark(name: unknown, options: unknown = undefined): PerformanceMark {
    requireArguments(arguments.length, 1, 'performance.mark');
    const mark = new PerformanceMark(name, options);
    this.#add(mark);
    return mark;
  }

  /** @see https://w3c.github.io/user-timing/#measure-method */
  measure(name: unknown, startOrOptions: unknown = undefined, endMark: unknown = undefined): PerformanceMeasure {
    requireArguments(arguments.length, 1, 'performance.measure');
    const text = toDOMString(name);
    const options = isObject(startOrOptions) ? toDictionary(startOrOptions, 'The options') : undefined;
    const detail = options?.detail;
    const duration = options?.duration;
    const optionEnd = options?.end;
    const optionStart = options?.start;
    const hasOptions =
      options !== undefined &&
      (detail !== undefined || duration !== undefined || optionEnd !== undefined || optionStart !== undefined);
    if (hasOptions) {
      if (endMark !== undefined) throw new TypeErrorCtor('An end mark cannot be given next to options');
      if (optionStart === undefined && optionEnd === undefined) {
        throw new TypeErrorCtor('The options have neither a start nor an end');
      }
      if (optionStart !== undefined && optionEnd !== undefined && duration !== undefined) {
        throw new TypeErrorCtor('The options have a start, an end and a duration; two of them are enough');
      }
    }
    const start = hasOptions ? optionStart : options === undefined ? (startOrOptions ?? undefined) : undefined;
    const durationMs = duration === undefined ? 0 : toDouble(duration, 'The duration');
    let end: number;
    if (endMark !== undefined) end = this.#timeOf(endMark);
    else if (optionEnd !== undefined) end = this.#timeOf(optionEnd);
    else if (start !== undefined && duration !== undefined) end = this.#timeOf(start) + durationMs;
    else end = monotonicNow();
    let begin = 0;
    if (start !== undefined) begin = this.#timeOf(start);
    else if (duration !== undefined && optionEnd !== undefined) begin = this.#timeOf(optionEnd) - durationMs;
    const measure = createMeasure(text, begin, end - begin, detail);
    this.#add(measure);
    return measure;
  }

  clearMarks(name: unknown = undefined): void {
    this.#clear('mark', name);
  }

  clearMeasures(name: unknown = undefined): void {
    this.#clear('measure', name);
  }

  getEntries(): PerformanceEntry[] {
    return sorted(this.#entries);
  }

  getEntriesByName(name: unknown, type: unknown = undefined): PerformanceEntry[] {
    requireArguments(arguments.length, 1, 'performance.getEntriesByName');
    return sorted(selectEntries(this.#entries, toDOMString(name), type === undefined ? undefined : toDOMString(type)));
  }

  getEntriesByType(type: unknown): PerformanceEntry[] {
    requireArguments(arguments.length, 1, 'performance.getEntriesByType');
    return sorted(selectEntries(this.#entries, undefined, toDOMString(type)));
  }

  toJSON(): object {
    void this.#entries;
    return { timeOrigin: this.timeOrigin };
  }

  #add(entry: PerformanceEntry): void {
    if (this.#entries.length >= MAX_ENTRIES) this.#entries = arraySlice(this.#entries, MAX_ENTRIES / 2);
    arrayPush(this.#entries, entry);
    notifyObservers(entry);
  }

  #clear(type: string, name: unknown): void {
    const text = name === undefined ? undefined : toDOMString(name);
    const kept: PerformanceEntry[] = [];
    for (let i = 0; i < this.#entries.length; i++) {
      const entry = this.#entries[i];
      if (entry === undefined) continue;
      if (entry.entryType !== type || (text !== undefined && entry.name !== text)) arrayPush(kept, entry);
    }
    this.#entries = kept;
  }

  /** A mark by its name, or a time. */
  #timeOf(mark: unknown): number {
    if (typeof mark === 'number' || (isObject(mark) && typeof mark !== 'function')) {
      const time = toDouble(mark, 'The time');
      if (time < 0) throw new TypeErrorCtor(`The time is ${time}, it must not be negative`);
      return time;
    }
    const name = toDOMString(mark);
    for (let i = this.#entries.length - 1; i >= 0; i--) {
      const entry = this.#entries[i];
      if (entry !== undefined && entry.entryType === 'mark' && entry.name === name) return entry.startTime;
    }
    throw new DOMException(`There is no mark "${name}"`, 'SyntaxError');
  }
}

defineInterface(Performance);

isConstructing = true;
export const performance = new Performance();
isConstructing = false;

function sorted(entries: readonly PerformanceEntry[]): PerformanceEntry[] {
  return arraySort(arraySlice(entries), (a, b) => a.startTime - b.startTime);
}
