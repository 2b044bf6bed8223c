/** The entries of the performance timeline. @see https://w3c.github.io/performance-timeline/ */
import { objectCreate, TypeErrorCtor } from '../../primordials.ts';
import { monotonicNow } from '../base/clock.ts';
import { defineInterface, defineValue, requireArguments, toDictionary, toDOMString, toDouble } from '../base/idl.ts';
import { structuredClone } from '../messaging/structured-clone.ts';

interface EntryInit {
  readonly name: string;
  readonly entryType: string;
  readonly startTime: number;
  readonly duration: number;
}

/** Set while the runtime itself makes an entry that has no public constructor. */
let pending: EntryInit | undefined;

export class PerformanceEntry {
  readonly #init: EntryInit;

  constructor() {
    if (pending === undefined) throw new TypeErrorCtor('Illegal constructor');
    this.#init = pending;
    pending = undefined;
  }

  get name(): string {
    return this.#init.name;
  }

  get entryType(): string {
    return this.#init.entryType;
  }

  get startTime(): number {
    return this.#init.startTime;
  }

  get duration(): number {
    return this.#init.duration;
  }

  toJSON(): object {
    const { name, entryType, startTime, duration } = this.#init;
    return { name, entryType, startTime, duration };
  }
}

defineInterface(PerformanceEntry);

export class PerformanceMark extends PerformanceEntry {
  readonly #detail: unknown;

  constructor(name: unknown, options: unknown = undefined) {
    requireArguments(arguments.length, 1, 'PerformanceMark constructor');
    const text = toDOMString(name);
    const { detail, startTime } = toDictionary(options, 'The options of the mark') ?? objectCreate(null);
    const start = startTime === undefined ? monotonicNow() : toDouble(startTime, 'The start time of the mark');
    if (start < 0) throw new TypeErrorCtor(`The start time of the mark is ${start}, it must not be negative`);
    pending = { name: text, entryType: 'mark', startTime: start, duration: 0 };
    super();
    this.#detail = detail === undefined || detail === null ? null : structuredClone(detail);
  }

  get detail(): unknown {
    return this.#detail;
  }

  override toJSON(): object {
    return { ...super.toJSON(), detail: this.#detail };
  }
}

defineInterface(PerformanceMark);

let pendingDetail: unknown = null;

export class PerformanceMeasure extends PerformanceEntry {
  readonly #detail: unknown = pendingDetail;

  get detail(): unknown {
    return this.#detail;
  }

  override toJSON(): object {
    return { ...super.toJSON(), detail: this.#detail };
  }
}

defineInterface(PerformanceMeasure);
defineValue(PerformanceMeasure, 'length', 0, false);

export function createMeasure(name: string, startTime: number, duration: number, detail: unknown): PerformanceMeasure {
  pendingDetail = detail === undefined || detail === null ? null : structuredClone(detail);
  pending = { name, entryType: 'measure', startTime, duration };
  return new PerformanceMeasure();
}
