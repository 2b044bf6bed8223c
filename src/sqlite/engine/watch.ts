/**
 * The thread beside the one that runs SQL. It ends the process when the host says so or is gone, and when the process has more memory than it may; and
 * reports the job that was running then: `[reason, index]`.
 */
import { writeSync } from 'node:fs';
import { Socket } from 'node:net';
import process from 'node:process';
import { workerData } from 'node:worker_threads';
import { SQL_LIMITS } from '../limits.js';

/** A pipe that the host holds the other end of. */
const CONTROL = 3;
const POLL_MS = 20;
const NO_JOB = -2;
/** Above this part of the allowed memory the process releases all that it can. */
const MUCH = 0.5;

const running = workerData as Int32Array; // of main.ts

const control = new Socket({ fd: CONTROL, readable: true, writable: true });
control.on('data', () => end('told'));
control.on('close', () => process.kill(process.pid, 'SIGKILL'));
control.on('error', () => process.kill(process.pid, 'SIGKILL'));

setInterval(() => {
  if ((running[0] ?? NO_JOB) === NO_JOB) return;
  const bytes = process.memoryUsage.rss();
  if (bytes > SQL_LIMITS.processBytes) end('memory');
  if (bytes > SQL_LIMITS.processBytes * MUCH) Atomics.store(running, 1, 1);
}, POLL_MS);

function end(reason: 'told' | 'memory'): void {
  const job = running[0] ?? NO_JOB;
  try {
    writeSync(CONTROL, `${JSON.stringify([reason, job])}\n`);
  } catch {
    // The host is gone, or finds out by the end of the process.
  }
  process.kill(process.pid, 'SIGKILL');
}
