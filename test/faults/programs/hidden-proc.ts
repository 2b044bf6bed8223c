/** Limits of functions in whatever this process can see of /proc. Prints what it has found as JSON. */
import process from 'node:process';
import { EdgeHost } from '../../../src/index.js';
import { errorCode } from '../../../src/quotas/errors.js';

const SOURCE = `export default { fetch(request) {
  if (request.url.endsWith('/loop')) for (;;);
  const kept = [];
  if (request.url.endsWith('/hoard')) for (;;) kept.push(new Array(100_000).fill(Math.random()));
  return new Response('fine');
} };`;

const sandbox = process.argv[2] === 'off' ? 'off' : 'auto';
const warnings: string[] = [];
const host = new EdgeHost({ storage: ':memory:', sandbox, spareIsolates: 0, warmCells: 0 });
host.on('warning', ({ message }) => warnings.push(message));
const quick = await host.load(SOURCE, { name: 'quick', limits: { cpuMs: 50 } });
const slow = await host.load(SOURCE, { name: 'slow', limits: { cpuMs: 20_000 } });
const textOf = async (fn: typeof quick, path: string): Promise<string> => (await fn.fetch(`http://x${path}`)).text();
const codeOf = (fn: typeof quick, path: string): Promise<unknown> => textOf(fn, path).catch(errorCode);
const found = {
  before: await codeOf(quick, '/'),
  loop: await codeOf(quick, '/loop'),
  hoard: await codeOf(slow, '/hoard'),
  after: [await codeOf(quick, '/'), await codeOf(slow, '/')],
  missing: host.health().watch?.missing,
  landlock: host.health().sandbox?.landlock,
  warnings,
};
await host.close();
console.log(JSON.stringify(found));
