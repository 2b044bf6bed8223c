/** All benchmarks, in the order in which they run. */
import type { Benchmark } from './benchmark.js';
import { coldStart } from './suites/cold-start.js';
import { cpu } from './suites/cpu.js';
import { dispatch } from './suites/dispatch.js';
import { http } from './suites/http.js';
import { memory } from './suites/memory.js';

export const BENCHMARKS: readonly Benchmark[] = [dispatch, http, coldStart, memory, cpu];
