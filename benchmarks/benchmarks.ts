/** All benchmarks, in the order in which they run. */
import type { Benchmark } from './benchmark.js';
import { accounting } from './suites/accounting.js';
import { bucketLarge } from './suites/bucket-large.js';
import { bucketLists } from './suites/bucket-lists.js';
import { buckets } from './suites/buckets.js';
import { cache } from './suites/cache.js';
import { coldStart } from './suites/cold-start.js';
import { containment } from './suites/containment.js';
import { cpu } from './suites/cpu.js';
import { dispatch } from './suites/dispatch.js';
import { guestApis } from './suites/guest-apis.js';
import { http } from './suites/http.js';
import { kv } from './suites/kv.js';
import { memory } from './suites/memory.js';
import { micro } from './suites/micro.js';
import { neighbours } from './suites/neighbours.js';
import { objectAlarms } from './suites/object-alarms.js';
import { objects } from './suites/objects.js';
import { peers } from './suites/peers.js';
import { queues } from './suites/queues.js';
import { runs } from './suites/runs.js';
import { sandbox } from './suites/sandbox.js';
import { services } from './suites/services.js';
import { servicesProcess } from './suites/services-process.js';
import { slowReaders } from './suites/slow-readers.js';
import { sockets } from './suites/sockets.js';
import { sql } from './suites/sql.js';
import { streaming } from './suites/streaming.js';
import { tenants } from './suites/tenants.js';
import { websockets } from './suites/websockets.js';

export const BENCHMARKS: readonly Benchmark[] = [
  dispatch,
  http,
  coldStart,
  sandbox,
  memory,
  cpu,
  buckets,
  bucketLists,
  bucketLarge,
  kv,
  sql,
  cache,
  queues,
  objectAlarms,
  streaming,
  slowReaders,
  sockets,
  websockets,
  objects,
  runs,
  accounting,
  services,
  servicesProcess,
  neighbours,
  containment,
  tenants,
  guestApis,
  micro,
  peers,
];
