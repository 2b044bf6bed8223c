/** What keeping usage takes of the host, by itself: adding invocations to the rows of functions, and writing the rows. */
import process from 'node:process';
import { openMemoryDatabase } from '../../src/storage/records/memory-database.js';
import { RecordStore } from '../../src/storage/records/record-store.js';
import { FunctionUsage } from '../../src/usage/function-usage.js';
import { StoredHoursMeter } from '../../src/usage/stored-bytes.js';
import { UsageRecorder } from '../../src/usage/usage-recorder.js';
import { UsageStore } from '../../src/usage/usage-store.js';

const FUNCTIONS = 16;
/** Invocations between two writes: what a host that is busy has in a second. */
const INVOCATIONS = 10_000;
const WRITES = 20;

const USED = {
  kind: 'fetch',
  cpuMs: 0.05,
  wallMs: 0.2,
  requestBytes: 0,
  responseBytes: 21,
  subrequests: 1,
  accounting: { calls: { fetch: 1 }, egressSentBytes: 0, egressReceivedBytes: 100 },
} as const;

/** CPU microseconds an invocation, one that has called a service. */
export async function usageMicroseconds(): Promise<number> {
  const records = new RecordStore(await openMemoryDatabase());
  const store = new UsageStore(records);
  const recorder = new UsageRecorder({
    now: Date.now,
    store: async () => store,
    stored: new StoredHoursMeter({ of: async () => ({ bytes: 0, objects: 0 }) }, { now: Date.now, keepDays: 400 }),
    onError: error => {
      throw error;
    },
  });
  const functions = Array.from({ length: FUNCTIONS }, (_, at) => new FunctionUsage('bench', `f${at}`, recorder));
  const { user, system } = process.cpuUsage();
  for (let write = 0; write < WRITES; write++) {
    for (let at = 0; at < INVOCATIONS; at++) functions[at % FUNCTIONS]?.add('ok', USED);
    await recorder.write();
  }
  const used = process.cpuUsage({ user, system });
  await recorder.close();
  await records.close();
  return (used.user + used.system) / (WRITES * INVOCATIONS);
}
