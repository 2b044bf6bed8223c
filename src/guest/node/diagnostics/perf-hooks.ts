/** node:perf_hooks: what the realm has of the performance API. Its event loop and its garbage collector are the host's, and are not measured here. */

import { Performance, performance } from '../../web/performance/performance.ts';
import { PerformanceEntry, PerformanceMark, PerformanceMeasure } from '../../web/performance/performance-entry.ts';
import { PerformanceObserver, PerformanceObserverEntryList } from '../../web/performance/performance-observer.ts';

export default {
  Performance,
  PerformanceEntry,
  PerformanceMark,
  PerformanceMeasure,
  PerformanceObserver,
  PerformanceObserverEntryList,
  performance,
};
