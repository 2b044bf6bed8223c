/** Clocks and the marks of a function. Requests of fetch make no entries. */

interface PerformanceEntry {
  readonly duration: number;
  readonly entryType: string;
  readonly name: string;
  readonly startTime: number;
  toJSON(): object;
}
declare var PerformanceEntry: { prototype: PerformanceEntry };

interface PerformanceMarkOptions {
  detail?: unknown;
  startTime?: number;
}

interface PerformanceMark extends PerformanceEntry {
  readonly detail: any;
}
declare var PerformanceMark: {
  prototype: PerformanceMark;
  new (name: string, options?: PerformanceMarkOptions): PerformanceMark;
};

interface PerformanceMeasureOptions {
  detail?: unknown;
  duration?: number;
  end?: string | number;
  start?: string | number;
}

interface PerformanceMeasure extends PerformanceEntry {
  readonly detail: any;
}
declare var PerformanceMeasure: { prototype: PerformanceMeasure };

interface PerformanceObserverInit {
  buffered?: boolean;
  entryTypes?: string[];
  type?: string;
}

interface PerformanceObserverEntryList {
  getEntries(): PerformanceEntry[];
  getEntriesByName(name: string, type?: string): PerformanceEntry[];
  getEntriesByType(type: string): PerformanceEntry[];
}
declare var PerformanceObserverEntryList: { prototype: PerformanceObserverEntryList };

interface PerformanceObserver {
  disconnect(): void;
  observe(options?: PerformanceObserverInit): void;
  takeRecords(): PerformanceEntry[];
}
declare var PerformanceObserver: {
  prototype: PerformanceObserver;
  new (callback: (entries: PerformanceObserverEntryList, observer: PerformanceObserver) => void): PerformanceObserver;
  readonly supportedEntryTypes: readonly string[];
};

interface Performance extends EventTarget {
  /** Milliseconds since the epoch. */
  readonly timeOrigin: number;
  clearMarks(name?: string): void;
  clearMeasures(name?: string): void;
  getEntries(): PerformanceEntry[];
  getEntriesByName(name: string, type?: string): PerformanceEntry[];
  getEntriesByType(type: string): PerformanceEntry[];
  mark(name: string, options?: PerformanceMarkOptions): PerformanceMark;
  measure(name: string, startOrOptions?: string | PerformanceMeasureOptions, endMark?: string): PerformanceMeasure;
  /** Milliseconds since `timeOrigin`. */
  now(): number;
  toJSON(): object;
}
declare var Performance: { prototype: Performance };
declare var performance: Performance;
