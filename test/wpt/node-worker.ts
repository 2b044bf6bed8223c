/** The thread of one test in plain Node. */
import dns from 'node:dns';
import vm from 'node:vm';
import { parentPort, workerData } from 'node:worker_threads';
import { HOST, type Script } from './program.js';

const scripts: readonly Script[] = workerData;

// Errors that a test leaves behind do not count as results.
process.on('uncaughtException', () => {});
process.on('unhandledRejection', () => {});
// Without results there is nothing to do any more; the runner's timeout says so.
setInterval(() => {}, 1 << 30);

// The tests' server is on the loopback interface, whatever its name.
const { lookup } = dns;
Object.assign(dns, {
  lookup(hostname: string, ...rest: [never, never]) {
    return lookup(hostname === HOST || hostname.endsWith(`.${HOST}`) ? '127.0.0.1' : hostname, ...rest);
  },
});

Object.assign(globalThis, { $answer: (results: unknown) => parentPort?.postMessage(results) });
for (const { name, source } of scripts) vm.runInThisContext(source, { filename: name });
