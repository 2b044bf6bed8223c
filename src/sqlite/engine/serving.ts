/**
 * How a process of the engine serves: it takes messages of the host one after the other, on its only thread. Nothing can interrupt SQLite from within, so a
 * thread beside (watch.ts) ends the whole process. It does so on request, when memory runs out, or when the host is gone.
 */
import { readSync, writevSync } from 'node:fs';
import process from 'node:process';
import { Worker } from 'node:worker_threads';
import { frame, JobFrameReader, READY } from './frames.js';

/** A pipe of its own, which blocks: Node opens the standard ones without. */
const PIPE = 4;
const CHUNK = 64 * 1024;
/**
 * The limits of the watching thread, which runs little code. Since Node 24 V8 maps 512 MiB for the code of a thread unless it is given a size, and
 * counts them as data of the process.
 */
export const WATCH_LIMITS = { maxOldGenerationSizeMb: 16, codeRangeSizeMb: 16 };
/** In place of a job while none runs. */
export const NONE = -2;

/** The running job, for the thread beside: its index, -1 while a transaction ends, -2 while no job runs. The second number: whether much memory is in use. */
export const running = new Int32Array(new SharedArrayBuffer(8));

export function startWatch(): void {
  running[0] = NONE;
  new Worker(new URL('./watch.js', import.meta.url), {
    workerData: running,
    resourceLimits: WATCH_LIMITS,
  });
}

/** Reports that the process has started, and runs until the host has closed its end. */
export function serve(receive: (head: unknown, payload: Buffer) => void): never {
  write(frame(READY, []));
  const reader = new JobFrameReader(receive);
  const buffer = Buffer.allocUnsafe(CHUNK);
  for (;;) {
    const length = readSync(PIPE, buffer);
    if (length === 0) process.exit(0);
    reader.push(Buffer.from(buffer.subarray(0, length)));
  }
}

export function write(parts: readonly Uint8Array[]): void {
  let rest = parts.filter(part => part.length > 0);
  while (rest.length > 0) {
    let written = writevSync(PIPE, rest);
    while (rest[0] !== undefined && written >= rest[0].length) {
      written -= rest[0].length;
      rest = rest.slice(1);
    }
    if (written > 0 && rest[0] !== undefined) rest = [rest[0].subarray(written), ...rest.slice(1)];
  }
}
