/**
 * An application of its own, for tests that start it with fewer rights: runs functions in cells, has them exceed their limits, and prints the outcomes.
 */
import process from 'node:process';
import { EdgeHost } from '../../../src/index.js';
import { errorCode } from '../../../src/quotas/errors.js';

const host = new EdgeHost({ storage: ':memory:', spareIsolates: 0, limits: { cpuMs: 2000 } });
const fn = await host.load(
  `export default { async fetch(request, env) {
    const { pathname } = new URL(request.url);
    if (pathname === '/cpu') for (;;);
    if (pathname === '/memory') { const all = []; for (;;) all.push(new Array(1e6).fill(0)); }
    await env.FILES.put('a', 'stored');
    return new Response(await (await env.FILES.get('a')).text() + ' ' + new Date(0).getHours());
  } }`,
  { buckets: { FILES: 'files' } },
);
const answer = await (await fn.fetch('http://x/')).text();
const cpu = await fn.fetch('http://x/cpu').then(() => 'answered', errorCode);
const memory = await fn.fetch('http://x/memory').then(() => 'answered', errorCode);
const again = await (await fn.fetch('http://x/')).text();
const rows = host.account('default').sql('main');
await rows.exec('CREATE TABLE t (v); INSERT INTO t VALUES (7)');
const row = await rows.prepare('SELECT v FROM t').first('v');
const { sandbox, sqlSandbox } = host.health();
await host.close();
process.stdout.write(JSON.stringify({ answer, cpu, memory, again, row, sandbox, sqlSandbox }));
