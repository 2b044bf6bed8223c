/** Heads of calls that no client of ours sends: what a function may send that has taken over its isolate. */
import test from 'ava';
import { checkAnswer, checkCall } from '../../../src/host/rpc/call-heads.js';
import { handler, newHost, textOf } from '../new-host.js';

const CALLS: readonly unknown[] = [
  null,
  1,
  'x',
  [],
  {},
  { p: 'x' },
  { p: [1] },
  { p: [], i: -1 },
  { p: [], i: 1.5 },
  { p: [], i: '1' },
  { p: [], q: -1 },
  { p: [], q: '1' },
  { p: [], n: 0.5 },
  { p: [], i: 1, q: 1 },
  { p: [], f: {} },
  { p: [], f: [{}] },
  { p: [], f: [{ x: 1, i: 1 }] },
  { p: [], f: [{ x: 'a' }] },
  { p: [], f: new Array(1001).fill({ x: 1 }) },
  { p: [], b: 'x' },
  { p: [], b: [-1] },
  { p: [], b: [1.5] },
  { p: [], b: [33_554_433] },
  { p: [], b: [33_554_432, 1] },
  { p: [], b: new Array(1002).fill(0) },
  { p: [], s: 1 },
  { p: new Array(65).fill('a') },
];

for (const [at, call] of CALLS.entries()) {
  test(`checkCall() refuses malformed call ${at}`, t => {
    const error = t.throws(() => checkCall(call));
    t.true(error instanceof TypeError || error instanceof RangeError);
  });
}

test('checkCall() takes what is at its bounds, and no more than it knows', t => {
  const call = { p: new Array(64).fill('a'), i: 3, n: 7, g: true, b: [33_554_432], s: true, f: [{ x: 1 }, { i: 2 }] };
  t.deepEqual(checkCall({ ...call, e: 'Admin', props: 'x', x: 4 }), call as never); // the same without what the host alone sets
});

const ANSWERS = [
  '',
  'x',
  'null',
  '1',
  '[]x',
  '{"k":1}',
  '{"k":[-1]}',
  '{"f":1}',
  '{"f":[1]}',
  '{"b":[null]}',
  '{"b":[4294967296]}',
  '{"s":0}',
];

for (const text of ANSWERS) {
  test(`checkAnswer() refuses ${JSON.stringify(text)}`, t => {
    t.throws(() => checkAnswer(text));
  });
}

const WORKERS = `import { FunctionEntrypoint } from 'edgehost:workers';`;

test('the stub of one invocation is not valid when that is over', async t => {
  const host = newHost(t);
  await host.load(`${WORKERS} export default class extends FunctionEntrypoint { f() { return () => 'called'; } }`, {
    name: 'api',
  });
  const fn = await host.load(
    `let kept; export default { async fetch(request, env) {
      if (request.url.endsWith('/keep')) { kept = await env.API.f(); return new Response(await kept()); }
      return kept().then(text => new Response(text), error => new Response(error.message));
    } };`,
    { services: { API: 'api' } },
  );
  t.is(await textOf(fn.fetch('http://x/keep')), 'called');
  t.is(await textOf(fn.fetch('http://x/')), 'The stub is no longer valid: the call that it came with is over');
});

test('a value of more than 32 MiB is refused, one below is passed', async t => {
  const host = newHost(t, { plan: 'standard' });
  await host.load(
    `${WORKERS} export default class extends FunctionEntrypoint { size(bytes) { return bytes.byteLength; } }`,
    { name: 'api' },
  );
  const fn = await host.load(
    handler(`const size = Number(new URL(request.url).pathname.slice(1));
      return env.API.size(new Uint8Array(size)).then(n => new Response(String(n)), error => new Response(error.name));`),
    { services: { API: 'api' } },
  );
  t.is(await textOf(fn.fetch(`http://x/${31 * 1024 * 1024}`)), String(31 * 1024 * 1024));
  t.is(await textOf(fn.fetch(`http://x/${33 * 1024 * 1024}`)), 'RangeError');
});

test('a function that passes the CPU limit fails its call alone', async t => {
  const host = newHost(t);
  await host.load(`${WORKERS} export default class extends FunctionEntrypoint { spin() { for (;;); } }`, {
    name: 'spin',
    limits: { cpuMs: 20, cpuOverrunMs: 0 },
  });
  const fn = await host.load(
    handler(`return env.SPIN.spin().then(() => new Response('no'), error => new Response(error.code));`),
    { services: { SPIN: 'spin' } },
  );
  t.is(await textOf(fn.fetch('http://x/')), 'EDGE_CPU_LIMIT');
});
