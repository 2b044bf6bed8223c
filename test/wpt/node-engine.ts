/** Runs one test in plain Node: a thread of its own, the scripts one after the other in its global scope. */
import { Worker } from 'node:worker_threads';
import type { RunResult, Script } from './program.js';

/** Answers with the results; rejects when there are none, because a script failed, the thread ended or it took too long. */
export async function runInNode(scripts: readonly Script[], timeoutMs: number): Promise<RunResult> {
  const worker = new Worker(new URL('./node-worker.js', import.meta.url), {
    workerData: scripts,
    execArgv: ['--no-warnings'],
    stderr: true,
    stdout: true,
  });
  let timer: NodeJS.Timeout | undefined;
  try {
    return await new Promise<RunResult>((resolve, reject) => {
      timer = setTimeout(() => reject(new Error(`no results after ${timeoutMs} ms`)), timeoutMs);
      worker.on('message', resolve);
      worker.on('error', reject);
      worker.on('exit', code => reject(new Error(`the thread ended with code ${code}`)));
    });
  } finally {
    clearTimeout(timer);
    await worker.terminate();
  }
}
