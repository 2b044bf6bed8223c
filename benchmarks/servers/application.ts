/**
 * An application with a route of its own, `/own`, and functions of an account on all other paths. Messages have an account offend.
 * Arguments: the folder of the storage, where services run, the URLs of the egress targets.
 */
import { createServer } from 'node:http';
import process from 'node:process';
import { setTimeout as pause } from 'node:timers/promises';
import { EdgeHost } from '../../src/index.js';
import { mainThreadClock } from '../measuring/process-cpu.js';
import { loadOffender, Offence, type Offender, startOffender, untilQuiet } from '../neighbours/offender.js';
import { STORING_FUNCTION } from '../services-process/storing-function.js';
import { answerMessages } from './answer-messages.js';

const [storage = '', mode = '', SINK = '', SOURCE = '', CODED = ''] = process.argv.slice(2);
const host = new EdgeHost({
  storage,
  backend: mode === 'process' ? 'process' : 'inline',
  warmCells: 0,
  egress: { allow: ['127.0.0.0/8'] },
});
const fn = await host.load(STORING_FUNCTION, { buckets: { FILES: 'files' } });
const listener = host.listener({ function: fn });
const server = createServer((request, response) => {
  if (request.url === '/own') response.end('fine');
  else listener(request, response);
});
await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
const address = server.address();

let offender: Offender | undefined;
let offence: Offence | undefined;

answerMessages(
  {
    /** An offender with this program on this plan, in place of the one before. */
    offender: async (name, plan) => {
      for (const old of offender?.functions ?? []) old.unload();
      offender = await loadOffender(host, String(name), plan === 'free' ? 'free' : 'standard', { SINK, SOURCE, CODED });
      await startOffender(offender);
      await untilQuiet();
    },
    offend: async () => {
      if (offender === undefined) throw new Error('There is no offender');
      await startOffender(offender);
      offence = new Offence(host, offender);
      // What comes with the first requests alone is not measured.
      await pause(100);
    },
    rest: async () => {
      await offence?.end();
      offence = undefined;
      await untilQuiet();
    },
    /** Milliseconds of CPU time that the main thread has used. */
    clock: async () => mainThreadClock(process.pid).usedMs,
    pids: async () => ({
      services: host.health().backend?.pid ?? null,
      cells: host.health().cells.flatMap(({ pid }) => pid ?? []),
    }),
  },
  async () => {
    server.closeAllConnections();
    server.close();
    await host.close({ drainMs: 0 });
  },
  typeof address === 'object' ? address?.port : 0,
);
