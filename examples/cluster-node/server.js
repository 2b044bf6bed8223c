// A server under node:cluster: two workers take connections of one port, and serve functions of one storage directory. The storage is in a process that both
// share, so that what one worker stores the other reads.
import cluster from 'node:cluster';
import { createServer } from 'node:http';
import process from 'node:process';
import { EdgeHost } from 'edgehost';

const WORKERS = 2;
const STORAGE = process.env.STORAGE ?? './data';
const PORT = Number(process.env.PORT ?? 8080);

/** A function of a customer: PUT and GET of notes, which it keeps in a bucket. */
const NOTES = `
  export default {
    async fetch(request, env) {
      const key = new URL(request.url).pathname.slice('/notes/'.length);
      if (request.method === 'PUT') {
        await env.NOTES.put(key, request.body);
        return new Response('kept\\n', { status: 201 });
      }
      const note = await env.NOTES.get(key);
      return note === null ? new Response('no such note\\n', { status: 404 }) : new Response(note.body);
    },
  };
`;

if (cluster.isPrimary) startWorkers();
else await serve();

/** The first process serves nothing and has no host: it replaces workers that end by themselves, and ends with them. */
function startWorkers() {
  for (let count = 0; count < WORKERS; count++) cluster.fork();
  let isStopping = false;
  cluster.on('exit', (worker, code, signal) => {
    if (isStopping) return;
    console.error(`worker ${worker.process.pid} has ended (${signal ?? code}), another is started`);
    // Not at once: what keeps a worker from starting would keep the next from it, too.
    setTimeout(() => isStopping || cluster.fork(), 1000);
  });
  for (const signal of ['SIGINT', 'SIGTERM']) {
    process.on(signal, () => {
      isStopping = true;
      for (const worker of Object.values(cluster.workers ?? {})) worker?.process.kill('SIGTERM');
    });
  }
}

async function serve() {
  const host = new EdgeHost({ storage: STORAGE, backend: 'process' });
  host.on('warning', error => console.error(`${error.code}: ${error.message}`));
  // Ctrl-C reaches the workers too, but it is the first process that ends them.
  process.on('SIGINT', () => {});
  // With the first worker that comes here the backend process begins.
  await host.openStorage();
  const acme = host.account('acme');
  const notes = await acme.load(NOTES, { name: 'notes', buckets: { NOTES: 'notes' } });
  const serveNotes = host.listener({ function: notes });
  const server = createServer({ maxHeaderSize: 64 * 1024 }, (request, response) => {
    response.setHeader('x-worker', String(process.pid));
    if (request.url?.startsWith('/notes/')) serveNotes(request, response);
    else if (request.url === '/usage') void sendUsage(acme, response);
    else response.end('The application itself.\n');
  });
  server.listen(PORT, '127.0.0.1', () => console.log(`worker ${process.pid} listens on port ${server.address().port}`));
  process.once('SIGTERM', async () => {
    server.close();
    server.closeIdleConnections();
    // The last worker closes the storage.
    await host.close();
    process.disconnect();
  });
}

/** Requests of the account this month, of both workers: those of the other one are a second late at most. */
async function sendUsage(account, response) {
  const { records } = await account.usage({ by: 'total' });
  response.end(`${records[0].requests}\n`);
}
