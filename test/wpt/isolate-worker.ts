/** The thread of one test's isolate: the same worker file that Piscina runs. */
import { workerData } from 'node:worker_threads';
import serve from '../../src/isolate/worker.js';

serve(workerData);
