/** What one function does, another does not notice: loops, bombs, crashes. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import type { Account, EdgeFunction, EdgeHost } from '../../src/index.js';
import { handler, ISOLATIONS, newHost, nextInvocation, textOf } from './new-host.js';

const FINE = handler('return new Response("fine")');

/** A function that misbehaves at /bad and answers everywhere else. */
function bad(body: string): string {
  return handler(`if (new URL(request.url).pathname === '/bad') { ${body} } return new Response('fine');`);
}

async function neighbours(host: EdgeHost): Promise<{ other: EdgeFunction; account: Account }> {
  const account = host.account('neighbour');
  return { other: await account.load(FINE), account };
}

/** Calls `fn` until `done`, and answers how many calls there were and how many failed. */
async function keepCalling(fn: EdgeFunction, done: Promise<unknown>): Promise<{ calls: number; failed: number }> {
  let isDone = false;
  void done.finally(() => {
    isDone = true;
  });
  const count = { calls: 0, failed: 0 };
  while (!isDone) {
    count.calls++;
    await textOf(fn.fetch('http://x/')).catch(() => count.failed++);
    await new Promise(resolve => setImmediate(resolve));
  }
  return count;
}

const loops: readonly [string, string][] = [
  ['a loop that never yields', 'for (;;);'],
  ['a microtask storm', 'const again = () => Promise.resolve().then(again); await again();'],
  ['a regular expression that backtracks for ever', "/^(a+)+$/.test('a'.repeat(40) + 'b')"],
];

for (const isolation of ISOLATIONS) {
  test(`buffers that are garbage do not count to the memory of a function (${isolation})`, async t => {
    const host = newHost(t, { isolation });
    const fn = await host.load(
      `let calls = 0;
       export default { async fetch(request, env) {
         const bytes = new Uint8Array(5_000_000);
         if (++calls % 2 === 0) await env.FILES.put('key', bytes);
         return new Response(bytes, { headers: { calls } });
       } };`,
      { buckets: { FILES: 'files' }, limits: { cpuMs: 1000 } },
    );
    // 200 MB of 128.
    for (let call = 1; call <= 40; call++) {
      const response = await fn.fetch('http://x/');
      t.is((await response.arrayBuffer()).byteLength, 5_000_000);
      t.is(response.headers.get('calls'), String(call));
    }
  });

  for (const [name, body] of loops) {
    test(`${name} ends with EDGE_CPU_LIMIT, and the function answers again (${isolation})`, async t => {
      const host = newHost(t, { isolation, limits: { cpuMs: 50 } });
      const fn = await host.load(bad(body));
      const { other } = await neighbours(host);
      const event = nextInvocation(host, ({ outcome }) => outcome !== 'ok');
      const attempt = t.throwsAsync(fn.fetch('http://x/bad'), {
        code: 'EDGE_CPU_LIMIT',
        message: /limit cpuMs is 50 ms.*option limits\.cpuMs/,
      });
      const { failed } = await keepCalling(other, attempt);
      await attempt;
      t.is(failed, 0);
      t.is((await event).outcome, 'exceededCpu');
      t.is(await textOf(fn.fetch('http://x/')), 'fine');
    });
  }
}

const bombs: readonly [string, string][] = [
  ['an array that is filled', 'new Array(2 ** 26).fill(0)'],
  ['objects without end', 'const all = []; for (;;) all.push({});'],
  ['a growing Map', 'const map = new Map(); for (let i = 0; ; i++) map.set(i, i);'],
  ['a growing string list', "const all = []; for (let i = 0; ; i++) all.push('x'.repeat(1000) + i);"],
  ['ArrayBuffers of 64 MB', 'const all = []; for (let i = 0; i < 40; i++) all.push(new Uint8Array(64 << 20).fill(1));'],
  ['a BigInt that doubles', 'let n = 1n; for (;;) n = n << (n & 0xffffn) + 65536n;'],
];

for (const [name, body] of bombs) {
  test(`${name}: ends in its own account, and the function answers again`, async t => {
    const host = newHost(t, { limits: { cpuMs: 5000 } });
    const fn = await host.load(bad(body));
    const { other } = await neighbours(host);
    const attempt = t.throwsAsync(fn.fetch('http://x/bad'));
    const { failed } = await keepCalling(other, attempt);
    const error = await attempt;
    t.is(failed, 0);
    t.true(
      error !== undefined &&
        'code' in error &&
        ['EDGE_MEMORY_LIMIT', 'EDGE_CPU_LIMIT', 'EDGE_HANDLER_THREW'].includes(String(error.code)),
      String(error),
    );
    t.is(await textOf(fn.fetch('http://x/')), 'fine');
  });
}

test('the death of a cell costs its own account the requests in flight, and no more', async t => {
  const host = newHost(t);
  const fn = await host.load(bad('await scheduler.wait(60_000)'));
  const { other } = await neighbours(host);
  const attempt = t.throwsAsync(fn.fetch('http://x/bad'), { code: 'EDGE_CELL_LOST' });
  const pid = host.health().cells.find(cell => cell.account === 'default')?.pid;
  t.truthy(pid);
  if (pid !== undefined) process.kill(pid, 'SIGKILL');
  await attempt;
  t.is(await textOf(other.fetch('http://x/')), 'fine');
  t.is(await textOf(fn.fetch('http://x/')), 'fine');
});

test('a function whose isolate dies again and again comes back each time', async t => {
  const host = newHost(t, { limits: { cpuMs: 20 } });
  const fn = await host.load(bad('for (;;);'));
  for (let round = 0; round < 40; round++) await t.throwsAsync(fn.fetch('http://x/bad'), { code: 'EDGE_CPU_LIMIT' });
  t.is(await textOf(fn.fetch('http://x/')), 'fine');
});

const ENDINGS = [
  ['SIGKILL', 'js', 'auto'],
  ['SIGTERM', 'js', 'auto'],
  ['SIGINT', 'js', 'auto'],
  ['exit', 'js', 'auto'],
  ['SIGKILL', 'native', 'auto'],
  ['exit', 'native', 'auto'],
  ['SIGKILL', 'native', 'off'],
] as const;
for (const [signal, loop, mode] of ENDINGS) {
  test(`nothing is left running after the application ended by ${signal} (${loop} loop, sandbox ${mode})`, async t => {
    const program = fileURLToPath(new URL('./programs/host-with-loop.js', import.meta.url));
    const child = spawn(process.execPath, [program, signal === 'exit' ? 'exit' : 'stay', loop, mode], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [line] = await once(child.stdout, 'data');
    const pid = Number(String(line));
    t.true(isAlive(pid));
    const exited = once(child, 'exit');
    if (signal !== 'exit') child.kill(signal);
    await exited;
    for (let wait = 0; wait < 300 && isAlive(pid); wait++) await new Promise(resolve => setTimeout(resolve, 50));
    t.false(isAlive(pid));
  });
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

test('isolates beyond the cap are evicted, the least recently used first, and come back', async t => {
  const host = newHost(t, { maxIsolates: 2 });
  const source = 'let n = 0; export default { fetch() { return new Response(String(++n)) } }';
  const fns: EdgeFunction[] = [];
  for (const name of ['a', 'b', 'c']) {
    const fn = await host.load(source, { name });
    await textOf(fn.fetch('http://x/'));
    fns.push(fn);
  }
  t.is(host.health().isolates, 2);
  const [a, , c] = fns;
  t.is(await textOf((c as EdgeFunction).fetch('http://x/')), '2'); // it was just loaded
  t.is(await textOf((a as EdgeFunction).fetch('http://x/')), '1'); // it was evicted, and starts anew
});

test('an isolate is not evicted in the middle of an invocation', async t => {
  const host = newHost(t, { maxIsolates: 1 });
  const slow = await host.load(handler('await scheduler.wait(100); return new Response("done")'), { name: 'slow' });
  const answer = textOf(slow.fetch('http://x/'));
  const other = await host.load(FINE, { name: 'other' });
  t.is(await textOf(other.fetch('http://x/')), 'fine');
  t.is(await answer, 'done');
});

test('an idle isolate is ended and comes back with the next request', async t => {
  const host = newHost(t, { idleMs: 50 });
  const fn = await host.load('let n = 0; export default { fetch() { return new Response(String(++n)) } }');
  t.is(await textOf(fn.fetch('http://x/')), '1');
  while (host.health().isolates > 0) await new Promise(resolve => setTimeout(resolve, 20));
  t.is(await textOf(fn.fetch('http://x/')), '1');
});

test('isolates that are busy for longer than the idle time stay, and the host goes on', async t => {
  const host = newHost(t, { idleMs: 40 });
  const source = handler(
    'const { readable, writable } = new IdentityTransformStream(); request.body.pipeTo(writable); return new Response(readable)',
  );
  const streams = await Promise.all(
    ['a', 'b', 'c'].map(async name => {
      const fn = await host.load(source, { name });
      let finish = (): void => {};
      const body = new ReadableStream({
        start(controller) {
          controller.enqueue(new TextEncoder().encode(name));
          finish = () => controller.close();
        },
      });
      const response = await fn.fetch('http://x/', { method: 'POST', body, duplex: 'half' });
      const reader = (response.body ?? new ReadableStream<Uint8Array<ArrayBuffer>>()).getReader();
      t.is(new TextDecoder().decode((await reader.read()).value), name);
      return { reader, finish };
    }),
  );
  for (let sweep = 0; sweep < 20; sweep++) await new Promise(resolve => setTimeout(resolve, 10));
  t.is(host.health().isolates, 3);
  for (const { finish } of streams) finish();
  for (const { reader } of streams) t.true((await reader.read()).done);
});

test('close() lets what runs finish, refuses what comes, and leaves no process', async t => {
  const host = newHost(t);
  const fn = await host.load(handler('await scheduler.wait(100); return new Response("done")'));
  const answer = textOf(fn.fetch('http://x/'));
  const pids = host.health().cells.map(cell => cell.pid ?? 0);
  await host.close();
  t.is(await answer, 'done');
  await t.throwsAsync(fn.fetch('http://x/'), { code: 'EDGE_CLOSED' });
  t.throws(() => host.account('x'), { code: 'EDGE_CLOSED' });
  await t.throwsAsync(host.load('export default { fetch() {} }'), { code: 'EDGE_CLOSED' });
  await t.throwsAsync(host.loadFile('nowhere'), { code: 'EDGE_CLOSED' });
  for (const pid of pids) t.false(isAlive(pid));
});
