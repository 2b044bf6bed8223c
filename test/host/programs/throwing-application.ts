/**
 * An application whose listeners and options throw, and that goes on after exceptions that nobody catches, as many do. Prints what became of its calls.
 * `node throwing-application.js process|thread inline|process`
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { EdgeHost } from '../../../src/index.js';
import { errorCode } from '../../../src/quotas/errors.js';

const [isolation, backend] = process.argv.slice(2);
const uncaught: string[] = [];
process.on('uncaughtException', error => uncaught.push(error.message));
const storage = mkdtempSync(join(tmpdir(), 'edgehost-'));

function fails(what: string): () => never {
  return () => {
    throw new Error(`${what} has thrown`);
  };
}

const host = new EdgeHost({
  storage,
  isolation: isolation === 'thread' ? 'thread' : 'process',
  backend: backend === 'process' ? 'process' : 'inline',
  warmCells: 0,
  spareIsolates: 0,
  outbound: fails('outbound'),
});
for (const event of ['log', 'invocation', 'warning'] as const) host.on(event, fails(event));
const source = `export default {
  async fetch(request, env) {
    console.log('a line');
    switch (new URL(request.url).pathname) {
      case '/callback': return new Response(await env.APP.fails().catch(error => error.message));
      case '/outbound': return new Response(await fetch('http://outbound.test/').then(() => 'answered', () => 'refused'));
      default: return new Response('fine');
    }
  },
};`;
const fn = await host.load(source, { name: 'f', bindings: { APP: { fails: fails('callback') } } });
const answers: (string | undefined)[] = [];
for (const path of ['/', '/callback', '/outbound', '/']) {
  const signal = AbortSignal.timeout(20_000);
  answers.push(
    await fn.fetch(`http://x${path}`, { signal }).then(
      response => response.text(),
      (error: unknown) => errorCode(error) ?? String(error),
    ),
  );
}
await host.close();
rmSync(storage, { recursive: true, force: true });
process.stdout.write(JSON.stringify({ answers, uncaught: [...new Set(uncaught)].sort() }));
