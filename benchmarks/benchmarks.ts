/** All benchmarks, in the order in which they run. */
import type { Benchmark } from './benchmark.js';
import { accounting } from './suites/accounting.js';
import { bucketLarge } from './suites/bucket-large.js';
import { bucketLists } from './suites/bucket-lists.js';
import { buckets } from './suites/buckets.js';
import { coldStart } from './suites/cold-start.js';
import { containment } from './suites/containment.js';
import { cpu } from './suites/cpu.js';
import { dispatch } from './suites/dispatch.js';
import { guestApis } from './suites/guest-apis.js';
import { http } from './suites/http.js';
import { memory } from './suites/memory.js';
import { micro } from './suites/micro.js';
import { neighbours } from './suites/neighbours.js';
import { peers } from './suites/peers.js';
import { slowReaders } from './suites/slow-readers.js';
import { streaming } from './suites/streaming.js';
import { tenants } from './suites/tenants.js';

export const BENCHMARKS: readonly Benchmark[] = [
  dispatch,
  http,
  coldStart,
  memory,
  cpu,
  buckets,
  bucketLists,
  bucketLarge,
  streaming,
  slowReaders,
  accounting,
  neighbours,
  containment,
  tenants,
  guestApis,
  micro,
  peers,
];
