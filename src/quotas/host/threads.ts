/**
 * The threads of libuv, as services share them. They are four for the whole process unless UV_THREADPOOL_SIZE says otherwise, and take what
 * they are given in the order in which it came: files, the database and decoders of every account, one queue. So tasks that can be many or
 * long pass a fair queue first. Costs are in milliseconds of a processor (quotas/host/host-costs.ts).
 *
 * One thread is left for commits of the database, which are never many: the next waits until the one before is on disk. At most one thread
 * waits for the disk with a file of an account.
 */
import process from 'node:process';
import { FairQueue } from './fair-queue.js';

const THREADS = poolSize(process.env.UV_THREADPOOL_SIZE);

/** The most waiting tasks of one account: far more than its connections need, which have one or two each. */
const MAX_WAITING = 4096;

/** Reads and writes of files, reads of many records, steps of decoders: at most a few milliseconds each. */
export const threadQueue = new FairQueue({
  task: 'use a thread of the host',
  concurrency: Math.max(1, THREADS - 2),
  perOwner: Math.max(1, THREADS - 3),
  maxWaiting: MAX_WAITING,
});

/**
 * Reads of one record: some ten microseconds, unless it is on the disk alone. There may be more of them than threads, so that sixteen reads of one
 * account need not wait in two queues.
 */
export const recordQueue = new FairQueue({
  task: 'read a record',
  concurrency: 4 * THREADS,
  perOwner: 3 * THREADS,
  maxWaiting: MAX_WAITING,
});

/** Tasks that sync a file: each waits until everything that was written of it is on the disk. */
export const syncQueue = new FairQueue({
  task: 'write a file to the disk',
  concurrency: Math.max(1, Math.floor(THREADS / 4)),
  perOwner: 1,
  maxWaiting: MAX_WAITING,
});

/** Reads the setting like libuv: 4 when it is not set, at least 1, at most 1,024. */
function poolSize(setting: string | undefined): number {
  if (setting === undefined) return 4;
  return Math.min(1024, Math.max(1, Number.parseInt(setting, 10) || 0));
}
