/** `account.tail()`: the invocations of an account for the application. */
import test from 'ava';
import { newHost, textOf } from '../new-host.js';

const SOURCE = `export default { fetch(request) {
  console.log('path ' + new URL(request.url).pathname);
  if (request.method === 'PUT') throw new Error('no PUT');
  return new Response(null, { status: request.method === 'POST' ? 201 : 200 });
} };`;

test('account.tail() gives invocations as they end, until it is closed', async t => {
  const account = newHost(t).account('acme');
  const fn = await account.load(SOURCE, { name: 'one' });
  await textOf(fn.fetch('http://x/before'));
  const tail = account.tail();
  await textOf(fn.fetch('http://x/a'));
  await textOf(fn.fetch('http://x/b', { headers: { cookie: 'secret' } }));
  const first = await tail.next();
  t.like(first.value, { scriptName: 'one', outcome: 'ok', logs: [{ message: ['path /a'] }] });
  const { value } = await tail.next();
  t.like(value?.event, { request: { headers: { cookie: 'REDACTED' } }, unredacted: { headers: { cookie: 'secret' } } });
  const waiting = tail.next();
  tail.close();
  t.deepEqual(await waiting, { done: true, value: undefined });
  t.deepEqual(await tail.next(), { done: true, value: undefined });
});

test('account.tail() is left by leaving the loop, and ends with the account', async t => {
  const host = newHost(t);
  const account = host.account('acme');
  const fn = await account.load(SOURCE, { name: 'one' });
  const tail = account.tail();
  await textOf(fn.fetch('http://x/a'));
  for await (const { scriptName } of tail) {
    t.is(scriptName, 'one');
    break;
  }
  t.true((await tail.next()).done);
  const other = account.tail();
  const waiting = other.next();
  await host.removeAccount('acme');
  t.true((await waiting).done);
  t.throws(() => account.tail(), { code: 'EDGE_ACCOUNT_REMOVED' });
});

test('account.tail() gives what passes its filter', async t => {
  const account = newHost(t).account('acme');
  const one = await account.load(SOURCE, { name: 'one' });
  const two = await account.load(SOURCE, { name: 'two' });
  const tails = {
    functions: account.tail({ filter: { functions: ['two'] } }),
    outcomes: account.tail({ filter: { outcomes: ['exception'] } }),
    methods: account.tail({ filter: { methods: ['POST'] } }),
    statuses: account.tail({ filter: { statuses: [201] } }),
    search: account.tail({ filter: { search: '/find' } }),
    thrown: account.tail({ filter: { search: 'no PUT' } }),
    kinds: account.tail({ filter: { kinds: ['scheduled'] } }),
  };
  await textOf(one.fetch('http://x/1'));
  await textOf(one.fetch('http://x/find', { method: 'POST' }));
  await t.throwsAsync(one.fetch('http://x/3', { method: 'PUT' }));
  await textOf(two.fetch('http://x/4'));
  const found: Record<string, string[]> = {};
  for (const [name, tail] of Object.entries(tails)) {
    const paths: string[] = [];
    const end = tail.next.bind(tail);
    // What has passed is there: the rest is nothing.
    for (let waits = await Promise.race([end(), Promise.resolve(null)]); waits?.value !== undefined; ) {
      paths.push(waits.value.logs[0]?.message[0] ?? '');
      waits = await Promise.race([end(), Promise.resolve(null)]);
    }
    tail.close();
    found[name] = paths.map(path => path.slice('path '.length));
  }
  t.deepEqual(found, {
    functions: ['/4'],
    outcomes: ['/3'],
    methods: ['/find'],
    statuses: ['/find'],
    search: ['/find'],
    thrown: ['/3'],
    kinds: [],
  });
});

test('account.tail() drops what is not read in time, and counts it', async t => {
  const account = newHost(t).account('acme');
  const fn = await account.load(
    `export default { fetch() { console.log('x'.repeat(100_000)); return new Response(); } };`,
  );
  const tail = account.tail();
  for (let i = 0; i < 8; i++) await textOf(fn.fetch('http://x/'));
  t.true(tail.dropped > 0 && tail.dropped < 8, `${tail.dropped}`);
  const kept = 8 - tail.dropped;
  for (let i = 0; i < kept; i++) t.false((await tail.next()).done);
  const { dropped } = tail;
  await textOf(fn.fetch('http://x/'));
  t.false((await tail.next()).done);
  t.is(tail.dropped, dropped);
});

test('account.tail() checks its options, and an account has at most ten', t => {
  const account = newHost(t).account('acme');
  const wrong = (filter: object): void => void account.tail({ filter });
  t.throws(() => wrong({ outcomes: ['fine'] }), { message: /outcomes/ });
  t.throws(() => wrong({ function: 'a' }), { message: /function/ });
  for (const sample of [0, 1.5, Number.NaN]) t.throws(() => wrong({ sample }), { instanceOf: RangeError });
  const tails = Array.from({ length: 10 }, () => account.tail());
  t.throws(() => account.tail(), { code: 'EDGE_OVERLOADED', message: /10 tails are open/ });
  tails[0]?.close();
  t.notThrows(() => account.tail());
});

test('account.tail() gives headers with names that all objects have as headers', async t => {
  const account = newHost(t).account('acme');
  const fn = await account.load(SOURCE, { name: 'one' });
  const tail = account.tail();
  const headers = new Headers([
    ['__proto__', 'a'],
    ['constructor', 'b'],
    ['constructor', 'c'],
  ]);
  await textOf(fn.fetch('http://x/', { headers }));
  const { value } = await tail.next();
  const shown = JSON.stringify(value?.event);
  t.regex(shown, /"__proto__":"a"/);
  t.regex(shown, /"constructor":"b, c"/);
});
