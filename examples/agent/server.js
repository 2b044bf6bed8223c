// An agent with a page: `npm run example:agent`, then open the address that it prints.
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import process from 'node:process';
import { json } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { EdgeHost } from 'edgehost';
import { z } from 'zod';
import { startAgent } from './agent.js';
import { modelOf } from './model.js';

const MAX_BODY_BYTES = 16_000;

const FILES = {
  '/': ['index.html', 'text/html; charset=utf-8'],
  '/page.js': ['page.js', 'text/javascript; charset=utf-8'],
  '/style.css': ['style.css', 'text/css; charset=utf-8'],
};

// The code of a model is shown as text, and could run no script even if it were not.
const HEADERS = {
  'content-security-policy':
    "default-src 'none'; connect-src 'self'; img-src data:; script-src 'self'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};

const Ask = z.object({ text: z.string().trim().min(1).max(2000) });
const Decide = z.object({
  run: z.string().max(200),
  approved: z.boolean(),
  note: z.string().trim().max(1000).default(''),
});

/**
 * Starts the example.
 *
 * @param {{ storage: string, port: number, env?: Record<string, string | undefined> }} options
 */
export async function startExample({ storage, port, env = process.env }) {
  const model = modelOf(env);
  const host = new EdgeHost({ storage });
  const readers = new Set();
  const show = (id, entry) => {
    for (const reader of readers) send(reader, { id, entry });
  };
  const agent = await startAgent({ account: host.account('shop'), model, show });

  const server = createServer(async (request, response) => {
    try {
      if (!isOwnPage(request, server.address().port)) return answer(response, 403, 'Only this page may ask');
      const action = `${request.method} ${request.url}`;
      if (action === 'GET /events') return events(request, response);
      if (action === 'POST /requests') {
        const { text } = await bodyOf(request, Ask);
        agent.ask(text);
        return answer(response, 202, '');
      }
      if (action === 'POST /decisions') {
        const { run, approved, note } = await bodyOf(request, Decide);
        return agent.decide(run, approved, note)
          ? answer(response, 202, '')
          : answer(response, 404, 'No such run waits for an approval');
      }
      const [name, type] = (request.method === 'GET' && FILES[request.url]) || [];
      if (name === undefined) return answer(response, 404, 'Not found');
      const text = await readFile(new URL(`page/${name}`, import.meta.url));
      response.writeHead(200, { ...HEADERS, 'content-type': type }).end(text);
    } catch (error) {
      answer(response, 400, error.message);
    }
  });

  /** Sends all conversations, and then what happens. */
  function events(request, response) {
    response.writeHead(200, { ...HEADERS, 'content-type': 'text/event-stream' });
    send(response, { model: model.name });
    for (const [id, entries] of agent.conversations) for (const entry of entries) send(response, { id, entry });
    readers.add(response);
    request.on('close', () => readers.delete(response));
  }

  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    async close() {
      server.closeAllConnections();
      server.close();
      await host.close();
    },
  };
}

function send(response, message) {
  response.write(`data: ${JSON.stringify(message)}\n\n`);
}

function answer(response, status, text) {
  response.writeHead(status, { ...HEADERS, 'content-type': 'text/plain; charset=utf-8' }).end(text);
}

async function bodyOf(request, schema) {
  // The pages of other sites cannot send this type.
  if (request.headers['content-type'] !== 'application/json') throw new Error('Expected application/json');
  if (!(Number(request.headers['content-length']) <= MAX_BODY_BYTES))
    throw new Error(`At most ${MAX_BODY_BYTES} bytes`);
  return schema.parse(await json(request));
}

/** Browsers send requests of any site here, also under a name that its owner has pointed to 127.0.0.1. */
function isOwnPage({ headers: { host, origin } }, port) {
  const isOwnName = host === `127.0.0.1:${port}` || host === `localhost:${port}`;
  return isOwnName && (origin === undefined || origin === `http://${host}`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { STORAGE = '.edgehost/agent', PORT = '8080' } = process.env;
  const example = await startExample({ storage: STORAGE, port: Number(PORT) });
  console.log(`The agent is at ${example.url}`);
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => void example.close());
}
