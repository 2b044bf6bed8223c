/** Functions that the application gives as options, and that fail. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { EdgeHost, type EdgeHostOptions, repairStorage } from '../../src/index.js';
import { errorCode } from '../../src/quotas/errors.js';
import { thrownOutside } from '../outside.js';
import { signRequest } from '../s3/sign.js';
import { ISOLATIONS, newHost } from './new-host.js';

function warningsOf(host: EdgeHost): Error[] {
  const warnings: Error[] = [];
  host.on('warning', error => warnings.push(error));
  return warnings;
}

for (const isolation of ISOLATIONS) {
  for (const [what, fail] of [
    [
      'throws',
      () => {
        throw new Error('the clock is broken');
      },
    ],
    ['answers NaN', () => Number.NaN],
    ['answers a promise', () => Promise.resolve(5) as unknown as number], // what JavaScript code may answer
  ] as const) {
    test(`calls are answered and counted while option now ${what}, with one warning (isolation ${isolation})`, async t => {
      let now: () => number = Date.now;
      const host = newHost(t, { isolation, now: () => now(), usage: { keepDays: 3 }, limits: { requestsPerDay: 100 } });
      const warnings = warningsOf(host);
      const fn = await host.load('export default { fetch() { return new Response("fine"); } };', { name: 'f' });
      t.is(await (await fn.fetch('http://x/')).text(), 'fine');
      now = fail;
      for (let call = 0; call < 3; call++) t.is(await (await fn.fetch('http://x/')).text(), 'fine');
      const { invocations, outcomes } = fn.stats();
      t.deepEqual([invocations, outcomes.ok], [4, 4]);
      const { quotas } = host.account('default').usage();
      t.is(quotas.find(({ id }) => id === 'requestsPerDay')?.used, 4);
      t.deepEqual(warnings.map(errorCode), ['EDGE_OPTION_FAILED']);
      t.regex(warnings[0]?.message ?? '', /^Option now of new EdgeHost\(\) /);
      now = Date.now;
      t.like(await host.account('default').usage({ by: 'total' }), { records: [{ invocations: 4 }] });
    });
  }
}

test('new EdgeHost() refuses a clock that fails at once', t => {
  const now = (() => new Date()) as unknown as () => number; // what JavaScript code may give
  t.throws(() => new EdgeHost({ storage: ':memory:', now }), {
    instanceOf: TypeError,
    message: /^Option now of new EdgeHost\(\) answers an object, expected a function that answers milliseconds/,
  });
});

/** What JavaScript code may answer, whatever the type says. */
type Resolver = NonNullable<NonNullable<EdgeHostOptions['egress']>['resolve']>;
const RESOLVERS: readonly (readonly [string, () => unknown, RegExp])[] = [
  [
    'throws at once',
    () => {
      throw new Error('10.0.0.7 is secret');
    },
    /Cannot resolve name\.example$/,
  ],
  ['rejects', () => Promise.reject(new Error('10.0.0.7 is secret')), /Cannot resolve name\.example$/],
  ['answers undefined', () => undefined, /option egress\.resolve answers undefined, expected an array of addresses/],
  ['answers no promise', () => [], /no address that the egress policy allows/],
  ['answers numbers', async () => [7], /option egress\.resolve answers an array, expected an array of addresses/],
];

for (const backend of ['inline', 'process'] as const) {
  for (const [what, resolve, message] of RESOLVERS) {
    test(`fetch() and connect() fail and name the resolver of the application when it ${what} (backend ${backend})`, async t => {
      const host = newHost(t, {
        ...(await storageOf(t, backend)),
        egress: { resolve: resolve as unknown as Resolver },
      });
      const fn = await host.load(`
        import { connect } from 'edgehost:sockets';
        export default { async fetch() {
          const of = promise => promise.then(() => 'opened', error => error.message);
          return Response.json([
            await of(fetch('http://name.example/')),
            await of(connect({ hostname: 'name.example', port: 5432 }).opened),
          ]);
        } };`);
      const answers: unknown = await (await fn.fetch('http://x/')).json();
      if (!Array.isArray(answers)) return t.fail(String(answers));
      for (const answer of answers) {
        t.regex(String(answer), message);
        t.notRegex(String(answer), /secret/);
      }
      t.is(answers.length, 2);
    });
  }

  for (const [what, outbound, message] of [
    ['throws at once', fails, /: the handler of option outbound has thrown$/],
    ['rejects', async () => fails(), /: the handler of option outbound has thrown$/],
    ['answers a number', () => 7, /option outbound answered with a number, expected a Response/],
    [
      'answers no status',
      () => ({ status: 0, headers: [], body: null }),
      /answered with an object, expected a Response/,
    ],
    ['answers a used body', () => used(), /answered with an object, expected a Response/],
  ] as const) {
    test(`fetch() fails and names the handler of the application when it ${what} (backend ${backend})`, async t => {
      const handler = outbound as unknown as NonNullable<EdgeHostOptions['outbound']>; // as above
      const host = newHost(t, { ...(await storageOf(t, backend)), outbound: handler });
      const fn = await host.load(`export default { async fetch() {
        return new Response(await fetch('http://name.example/').then(() => 'answered', error => error.message));
      } };`);
      t.regex(await (await fn.fetch('http://x/')).text(), message);
    });
  }

  test.serial(`management() answers 8000 and names the option that has failed (backend ${backend})`, async t => {
    const host = newHost(t, await storageOf(t, backend));
    const warnings = warningsOf(host);
    host.account('acme');
    let now: () => Date = () => new Date();
    const api = host.management({ now: () => now(), zoneOwnership: fails });
    const { value } = await api.issueToken({ name: 'a', account: 'acme', permissions: ['zones:edit'] });
    const make = async (): Promise<unknown> => {
      const headers = { Authorization: `Bearer ${value}`, 'Content-Type': 'application/json' };
      const body = JSON.stringify({ name: 'acme.example', account: { id: 'acme' } });
      return (await api(new Request('http://api/zones', { method: 'POST', headers, body }))).json();
    };
    t.like(await make(), { errors: [{ code: 8000 }] });
    now = () => new Date(Number.NaN);
    t.like(await make(), { errors: [{ code: 8000 }] });
    now = fails;
    t.like(await make(), { errors: [{ code: 8000 }] });
    t.deepEqual(warnings.map(errorCode), Array(3).fill('EDGE_OPTION_FAILED'));
    t.deepEqual(
      warnings.map(({ message }) => message),
      [
        'Option zoneOwnership of management() has thrown: Error: broken',
        'Option now of management() answers an invalid Date, expected a function that answers a Date',
        'Option now of management() has thrown: Error: broken',
      ],
    );
  });

  test.serial(
    `s3() answers 500 while its options fail, and throws what onError throws outside (backend ${backend})`,
    async t => {
      const thrown = thrownOutside(t);
      const host = newHost(t, await storageOf(t, backend));
      const warnings = warningsOf(host);
      const keys = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG' };
      const credentials = [{ ...keys, buckets: '*' }] as const;
      let now: () => Date = () => new Date();
      const status = async (api: ReturnType<EdgeHost['s3']>): Promise<number> => {
        const { target, headers } = signRequest('GET', '/', { ...keys, host: 'x' });
        return (await api(new Request(`http://x${target}`, { headers }))).status;
      };
      const api = host.s3({ credentials, now: () => now() });
      t.is(await status(api), 200);
      now = () => new Date(Number.NaN);
      t.is(await status(api), 500, 'no signature expires by an invalid Date');
      now = fails;
      t.is(await status(api), 500);
      t.deepEqual(warnings.map(errorCode), ['EDGE_OPTION_FAILED', 'EDGE_OPTION_FAILED']);
      now = () => new Date();
      const own = host.s3({
        credentials,
        now: () => now(),
        onError: () => {
          throw new Error('of onError');
        },
      });
      now = fails;
      t.is(await status(own), 500);
      await new Promise(resolve => setImmediate(resolve));
      t.like(thrown, [{ message: 'of onError' }]);
    },
  );
}

test.serial('repairStorage() goes on when a function that it tells of its steps throws', async t => {
  const thrown = thrownOutside(t);
  const { storage } = await storageOf(t, 'inline');
  const host = newHost(t, { storage });
  await host.bucket('files').put('a', 'a value');
  await host.close();
  t.like(await repairStorage(storage, { onStep: fails }), { recounted: [] });
  t.like(await repairStorage(storage, { check: true, onProgress: fails }), { damaged: [] });
  t.true(thrown.length >= 3);
});

function fails(): never {
  throw new Error('broken');
}

async function used(): Promise<Response> {
  const response = new Response('read already');
  response.body?.getReader();
  return response;
}

async function storageOf(t: ExecutionContext, backend: 'inline' | 'process') {
  const storage = await mkdtemp(join(tmpdir(), 'edgehost-'));
  t.teardown(() => rm(storage, { recursive: true, force: true }));
  return { storage, backend } as const;
}
