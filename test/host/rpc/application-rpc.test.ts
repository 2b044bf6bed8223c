/** The application calls methods of a function: fn.rpc. */
import test from 'ava';
import { ISOLATIONS, newHost, nextInvocation } from '../new-host.js';

const API = `import { FunctionEntrypoint, RpcTarget } from 'edgehost:workers';
class Counter extends RpcTarget {
  #n = 0;
  increment() { return ++this.#n; }
  get value() { return this.#n; }
}
export class Admin extends FunctionEntrypoint { props() { return this.ctx.props; } }
export default class extends FunctionEntrypoint {
  add(a, b) { return a + b; }
  echo(value) { return value; }
  get name() { return 'api'; }
  counter() { return new Counter(); }
  pair() { return { a: new Counter(), f: x => x * 2 }; }
  throws() { throw new RangeError('no'); }
  size(bytes) { return bytes.byteLength; }
  large() { return 'x'.repeat(2_000_000); }
  stream() { return new Response('streamed').body; }
  response() { return new Response('x'); }
}`;

const DISPOSE: symbol = Reflect.get(Symbol, 'dispose');

for (const isolation of ISOLATIONS) {
  test(`fn.rpc calls methods and reads properties (${isolation})`, async t => {
    const fn = await newHost(t, { isolation }).load(API);
    t.is(await fn.rpc.add(1, 2), 3);
    t.is(await fn.rpc.name, 'api');
    t.deepEqual(await fn.rpc.echo(new Map([['ü', new Date(3)]])), new Map([['ü', new Date(3)]]));
    t.is(await fn.rpc.size(new Uint8Array(100_000)), 100_000);
    t.deepEqual(await fn.rpcTo({ entrypoint: 'Admin', props: { role: 'é' } }).props(), { role: 'é' });
  });
}

test('fn.rpc rejects as fn.fetch() does, with what was thrown as its cause', async t => {
  const fn = await newHost(t).load(API);
  const error = await t.throwsAsync(async () => fn.rpc.throws(), { code: 'EDGE_HANDLER_THREW' });
  t.like(error?.cause, { name: 'RangeError', message: 'no' });
  await t.throwsAsync(async () => fn.rpc.nope(), { message: /does not implement the method "nope"/ });
  await t.throwsAsync(async () => fn.rpc.echo(() => {}), {
    instanceOf: TypeError,
    message: /^The arguments of echo\(\)\[0\] is a function/,
  });
  await t.throwsAsync(async () => fn.rpc.large(), {
    instanceOf: RangeError,
    message: /^The result of large\(\) has more than 1048576 bytes/,
  });
  await t.throwsAsync(async () => fn.rpc.response(), {
    instanceOf: TypeError,
    message: /^The result of response\(\) has a value that only functions can pass to each other/,
  });
});

test('stubs of a result work until they are disposed of, and then the function is done', async t => {
  const host = newHost(t);
  const fn = await host.load(API);
  const counter = await fn.rpc.counter();
  t.is(await counter.increment(), 1);
  t.is(await counter.increment(), 2);
  t.is(await counter.value, 2);
  const pair = await fn.rpc.pair();
  t.is(await pair.f(4), 8);
  t.is(await pair.a.increment(), 1);
  pair[DISPOSE]();
  await t.throwsAsync(async () => pair.f(4), { message: 'RPC stub used after being disposed.' });
  const over = nextInvocation(host);
  counter[DISPOSE]();
  t.is((await over).outcome, 'ok');
});

test('a stream is a result', async t => {
  const fn = await newHost(t).load(API);
  t.is(await new Response(await fn.rpc.stream()).text(), 'streamed');
});

test('a call of a method is an event with the method RPC, and its name', async t => {
  const host = newHost(t);
  const fn = await host.load(API);
  const event = nextInvocation(host);
  await fn.rpc.add(1, 1);
  t.like(await event, { kind: 'fetch', method: 'RPC', url: undefined, rpcMethod: 'add', status: 200, outcome: 'ok' });
});
