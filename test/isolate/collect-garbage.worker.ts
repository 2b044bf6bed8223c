/** Makes garbage outside of the heap, collects it, and reports how much there was before and after. */
import { getHeapStatistics } from 'node:v8';
import { parentPort } from 'node:worker_threads';
import { collectGarbage } from '../../src/isolate/metering/collect-garbage.js';

function external(): number {
  return getHeapStatistics().external_memory;
}

let buffers: Uint8Array[] | undefined = Array.from({ length: 20 }, () => new Uint8Array(5_000_000));
const before = buffers.length > 0 ? external() : 0;
await new Promise(setImmediate);
buffers = undefined;
await new Promise(setImmediate);
collectGarbage();
parentPort?.postMessage({ before, after: external() });
