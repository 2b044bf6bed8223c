/** What a function makes its process print (rule R21). */
import { spawn } from 'node:child_process';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { handler, newHost } from '../host/new-host.js';

/** The engine prints an error for each of these promises, past everything that could be listened to. */
const FLOOD = `
let levels = 0;
const dive = () => { try { dive(); } catch {} if (levels-- > 0) Promise.reject(1); };
for (let i = 0; i < 20; i++) { levels = 100; try { dive(); } catch {} }`;

test('nothing that a cell prints reaches the output of the application (R21)', async t => {
  const program = `
import { EdgeHost } from ${JSON.stringify(new URL('../../src/index.js', import.meta.url).href)};
const host = new EdgeHost({ storage: ':memory:' });
const fn = await host.load(${JSON.stringify(handler(`${FLOOD} return new Response('flooded');`))});
process.exitCode = (await (await fn.fetch('http://x/')).text()) === 'flooded' ? 7 : 1;
await host.close();`;
  const child = spawn(process.execPath, ['--no-warnings', '--input-type=module', '--eval', program], {
    cwd: fileURLToPath(new URL('.', import.meta.url)),
  });
  let printed = '';
  for (const output of [child.stdout, child.stderr])
    output.on('data', (chunk: Buffer) => (printed += chunk.toString()));
  const code = await new Promise(resolve => child.once('close', resolve));
  t.is(printed, '');
  t.is(code, 7);
});

test('a cell that has run out of memory is told from one that has crashed, however much it printed before (R21)', async t => {
  const host = newHost(t);
  const flood = await host.load(handler(`${FLOOD} return new Response('flooded');`), { name: 'flood' });
  for (let i = 0; i < 3; i++) t.is(await (await flood.fetch('http://x/')).text(), 'flooded');
  const bomb = await host.load(handler('const all = []; for (;;) all.push(new Array(2 ** 26).fill(0));'), {
    name: 'bomb',
  });
  await t.throwsAsync(bomb.fetch('http://x/'), { code: 'EDGE_MEMORY_LIMIT' });
});
