/** What a deployment may have, by plan, at the bound and one past it. */
import { randomBytes } from 'node:crypto';
import test from 'ava';
import type { LoadOptions } from '../../src/index.js';
import { LIMITS, PLANS, type PlainLimitName } from '../../src/quotas/limits.js';
import { newHost } from '../host/new-host.js';

const OK = 'export default { fetch: () => new Response("ok"), scheduled() {} };';

const names = (count: number): string[] => Array.from({ length: count }, (_, n) => `V${n}`);

/** Makes a deployment that reaches a value of a limit. */
const REACH: Partial<Record<PlainLimitName, (figure: number) => LoadOptions>> = {
  envVars: figure => {
    const all = names(figure);
    const half = figure >> 1;
    return {
      vars: Object.fromEntries(all.slice(0, half).map(name => [name, 'v'])),
      secrets: Object.fromEntries(all.slice(half).map(name => [name, 's'])),
    };
  },
  envVarBytes: figure => ({ vars: { V: 'x'.repeat(figure) } }),
  cronTriggers: figure => ({
    crons: Array.from({ length: figure }, (_, n) => `${n % 60} ${Math.floor(n / 60)} * * *`),
  }),
  routesPerZone: figure => ({ routes: Array.from({ length: figure }, (_, n) => `example.com/r${n}/*`) }),
  zonesPerFunction: figure => ({ routes: Array.from({ length: figure }, (_, n) => `zone${n}.com/*`) }),
};

for (const plan of PLANS) {
  for (const [name, options] of Object.entries(REACH)) {
    const limit = name as keyof typeof REACH; // its own keys
    const row = LIMITS[limit];
    if (row.by !== 'plan') continue;
    const figure = row.values[plan];
    test(`load() takes ${figure} of ${name} on plan ${plan}, and refuses one more`, async t => {
      const host = newHost(t, { plan, isolation: 'thread', spareIsolates: 0 });
      await host.load(OK, options(figure));
      await t.throwsAsync(host.load(OK, { ...options(figure + 1), name: 'function' }), {
        code: 'EDGE_LIMIT_EXCEEDED',
        message: new RegExp(`limit ${name} is .*plan ${plan}, option limits\\.${name}`),
      });
    });
  }

  test(`account() takes so many functions on plan ${plan} as the owner allows, and no more`, async t => {
    const host = newHost(t, { plan, isolation: 'thread', limits: { functions: 2 } });
    for (const name of ['a', 'b', 'b']) await host.load(OK, { name });
    await t.throwsAsync(host.load(OK, { name: 'c' }), {
      code: 'EDGE_LIMIT_EXCEEDED',
      message: new RegExp(`limit functions is 2 .*plan ${plan}`),
    });
  });
}

test(`account() takes ${LIMITS.functions.values.free} functions on plan free, and not one more`, async t => {
  const host = newHost(t, { plan: 'free', isolation: 'thread', maxIsolatesPerAccount: 4 });
  for (let n = 0; n < LIMITS.functions.values.free; n++) await host.load(OK, { name: `f${n}` });
  await t.throwsAsync(host.load(OK, { name: 'more' }), {
    code: 'EDGE_LIMIT_EXCEEDED',
    message:
      /number of functions of the account is 101, limit functions is 100 \(plan free, option limits\.functions\)/,
  });
  await t.notThrowsAsync(host.load(OK, { name: 'f7' }), 'a new version of one is none more');
});

test('load() measures the script after gzip', async t => {
  const host = newHost(t, { plan: 'free', isolation: 'thread' });
  const noise = randomBytes(LIMITS.scriptBytes.values.free).toString('base64');
  await host.load(`${OK}\n// ${'x'.repeat(3_000_000)}`);
  await t.throwsAsync(host.load(`${OK}\n// ${noise}${noise.slice(0, 500_000)}`), {
    code: 'EDGE_SCRIPT_TOO_LARGE',
    message: /limit scriptBytes is 1 MiB \(plan free, option limits.scriptBytes\)/,
  });
});

for (const name of ['not-valid', '1a', 'class', 'a b', '']) {
  test(`load() refuses the binding name ${JSON.stringify(name)}`, async t => {
    const host = newHost(t);
    await t.throwsAsync(host.load(OK, { buckets: { [name]: 'files' } }), { instanceOf: TypeError });
  });
}

test('load() fails with the time taken when the global scope needs more than startupMs', async t => {
  const host = newHost(t);
  const error = await t.throwsAsync(host.load(`for (let i = 0; i < 5e9; i++); ${OK}`), {
    code: 'EDGE_STARTUP_LIMIT',
    message:
      /running its global scope is [\d.,]+ m?s, limit startupMs is 400 ms \(plan standard, option limits\.startupMs\)/,
  });
  t.like(error, { limit: { name: 'startupMs', allowed: 400 } });
  const fn = await host.load(OK);
  t.true(fn.startupTimeMs >= 0 && fn.startupTimeMs <= 400);
});

test('load() fails when the global scope needs more than memoryBytes', async t => {
  const error = await t.throwsAsync(
    newHost(t, { limits: { startupMs: 60_000 } }).load(
      `const all = []; for (;;) all.push(new Array(1e5).fill(all.length)); ${OK}`,
    ),
    {
      code: 'EDGE_MEMORY_LIMIT',
      message: /the memory of its global scope is .*, limit memoryBytes is .*\(plan standard/,
    },
  );
  t.like(error, { limit: { name: 'memoryBytes', allowed: 128 * 1024 * 1024 } });
});

const GLOBAL_SCOPE: readonly (readonly [string, string])[] = [
  ['fetch', 'await fetch("http://127.0.0.1/")'],
  ['a timer', 'setTimeout(() => {}, 1)'],
  ['random values', 'crypto.getRandomValues(new Uint8Array(8))'],
  ['a UUID', 'crypto.randomUUID()'],
  ['a wait', 'await scheduler.wait(1)'],
];

for (const [what, statement] of GLOBAL_SCOPE) {
  test(`load() refuses ${what} in the global scope`, async t => {
    const host = newHost(t, { isolation: 'thread' });
    await t.throwsAsync(host.load(`${statement};\n${OK}`), { code: 'EDGE_SCRIPT_THREW' });
  });
}
