/**
 * One application behind node:http, or several of a cluster on one port and one storage directory. Arguments: the folder of the storage,
 * where services run, how many.
 */
import cluster from 'node:cluster';
import { createServer } from 'node:http';
import process from 'node:process';
import { EdgeHost } from '../../src/index.js';
import { STORING_FUNCTION } from '../services-process/storing-function.js';

const [storage = '', mode = '', count = '1'] = process.argv.slice(2);

if (cluster.isPrimary) startWorkers();
else await serve();

function startWorkers(): void {
  let ready = 0;
  let port = 0;
  for (let at = 0; at < Number(count); at++) cluster.fork();
  cluster.on('listening', (_worker, address) => {
    ({ port } = address);
    if (++ready === Number(count)) process.send?.({ port });
  });
  process.once('disconnect', () => cluster.disconnect(() => process.exit(0)));
}

async function serve(): Promise<void> {
  const host = new EdgeHost({ storage, backend: mode === 'process' ? 'process' : 'inline', warmCells: 0 });
  const fn = await host.load(STORING_FUNCTION, { buckets: { FILES: 'files' } });
  for (let at = 0; at < 4; at++) await host.bucket('files').put(`key-${at}`, 'v'.repeat(1024));
  await (await fn.fetch('https://example.com/none')).text();
  const server = createServer(host.listener({ function: fn }));
  server.listen(0, '127.0.0.1');
  process.once('disconnect', () => {
    server.closeAllConnections();
    server.close();
    void host.close({ drainMs: 0 }).finally(() => process.exit(0));
  });
}
