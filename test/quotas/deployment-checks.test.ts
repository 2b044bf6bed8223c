import { randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import test from 'ava';

import { isBindingName } from '../../src/quotas/binding-name.js';
import { type CountLimitName, checkCount, checkDeployment } from '../../src/quotas/deployment-checks.js';
import { PLANS } from '../../src/quotas/limits.js';
import { resolveLimits } from '../../src/quotas/resolve-limits.js';

const COUNTS: readonly CountLimitName[] = ['envVars', 'functions', 'cronTriggers', 'routesPerZone', 'zonesPerFunction'];

for (const plan of PLANS) {
  const limits = resolveLimits({ plan });

  for (const name of COUNTS) {
    test(`checkCount() of ${plan} takes ${name} up to the limit and none past it`, t => {
      t.notThrows(() => checkCount(name, limits[name], limits, 'load function "a"'));
      const error = t.throws(() => checkCount(name, limits[name] + 1, limits, 'load function "a"'), {
        code: 'EDGE_LIMIT_EXCEEDED',
      });
      t.regex(error.message, new RegExp(`^Cannot load function "a": .*limit ${name} is`));
    });
  }

  test(`checkDeployment() of ${plan} takes as many environment variables as the limit, text and secret together`, async t => {
    const named = (prefix: string, count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, i) => [`${prefix}${i}`, 'value']));
    const half = limits.envVars / 2;
    const deployment = { name: 'a', modules: ['x'], vars: named('V', half), secrets: named('S', half) };
    await t.notThrowsAsync(checkDeployment(deployment, limits));
    const more = { ...deployment, secrets: named('S', half + 1) };
    await t.throwsAsync(checkDeployment(more, limits), { code: 'EDGE_LIMIT_EXCEEDED', message: /limit envVars is/ });
  });
}

test('checkDeployment() takes an environment variable of 5 KB in UTF-8 and none of a byte more', async t => {
  const limits = resolveLimits();
  const deploy = (value: unknown) => checkDeployment({ name: 'a', modules: [''], vars: { V: value } }, limits);
  await t.notThrowsAsync(deploy('\u00e4'.repeat(2560)));
  const error = await t.throwsAsync(deploy(`${'\u00e4'.repeat(2560)}a`), { code: 'EDGE_LIMIT_EXCEEDED' });
  t.regex(error.message, /environment variable "V" is 5,121 bytes, limit envVarBytes is 5,120 bytes/);
  await t.notThrowsAsync(deploy({ a: 'b'.repeat(5112) }));
  await t.throwsAsync(deploy({ a: 'b'.repeat(5113) }), { code: 'EDGE_LIMIT_EXCEEDED' });
});

test('checkDeployment() throws a TypeError when a variable is neither a string nor a JSON value', async t => {
  const cycle: Record<string, unknown> = {};
  cycle.self = cycle;
  for (const value of [undefined, () => 1, cycle, 10n]) {
    const checking = checkDeployment({ name: 'a', modules: [''], vars: { V: value } }, resolveLimits());
    await t.throwsAsync(checking, {
      instanceOf: TypeError,
      message: /variable "V" is neither a string nor a JSON value/,
    });
  }
});

test('checkDeployment() measures the script after gzip, at the limit and past it', async t => {
  const source = randomBytes(5000);
  const actual = gzipSync(source).byteLength;
  const deploy = (scriptBytes: number) =>
    checkDeployment({ name: 'hello', modules: [source] }, resolveLimits({ overrides: [{ scriptBytes }] }));
  t.deepEqual(await deploy(actual), { scriptBytes: actual });
  const error = await t.throwsAsync(deploy(actual - 1), { code: 'EDGE_SCRIPT_TOO_LARGE' });
  t.regex(error.message, /^Cannot load function "hello": the source after gzip is/);
});

test('checkDeployment() takes a script of 1.5 MB that gzip makes small on the plan free', async t => {
  const source = 'export default {};\n'.repeat(80_000);
  const { scriptBytes } = await checkDeployment({ name: 'a', modules: [source] }, resolveLimits({ plan: 'free' }));
  t.true(scriptBytes !== undefined && scriptBytes < 50_000);
});

test('checkDeployment() refuses 2 MB that gzip cannot make smaller on the plan free, and takes it on standard', async t => {
  const deployment = { name: 'a', modules: [randomBytes(2 << 20)] };
  await t.throwsAsync(checkDeployment(deployment, resolveLimits({ plan: 'free' })), { code: 'EDGE_SCRIPT_TOO_LARGE' });
  await t.notThrowsAsync(checkDeployment(deployment, resolveLimits()));
});

test('checkDeployment() refuses a script that only gzip makes fit', async t => {
  const half = Buffer.alloc(129 << 20);
  const checking = checkDeployment({ name: 'a', modules: [half, half] }, resolveLimits());
  await t.throwsAsync(checking, { code: 'EDGE_SCRIPT_TOO_LARGE', message: /before gzip/ });
});

test('checkDeployment() throws a TypeError when a name is listed twice', async t => {
  const twice = { name: 'a', modules: [''], vars: { A: '1' }, bindings: ['A'] };
  await t.throwsAsync(checkDeployment(twice, resolveLimits()), {
    instanceOf: TypeError,
    message: /"A" is listed twice/,
  });
});

for (const name of ['FILES', '_a', '$', 'a1', '\u00e4', 'of', 'async', 'get', 'constructor', 'bucket\u200d']) {
  test(`isBindingName() takes ${name}`, t => {
    t.true(isBindingName(name));
  });
}

for (const name of [
  '',
  '1a',
  'a-b',
  'a b',
  'a.b',
  'class',
  'await',
  'let',
  'static',
  'eval',
  'null',
  'undefined',
  'enum',
  'a;b',
  '\\u0061',
  '__proto__',
  'a\n',
  'x'.repeat(257),
]) {
  test(`isBindingName() refuses ${JSON.stringify(name.slice(0, 20))}`, async t => {
    t.false(isBindingName(name));
    const checking = checkDeployment({ name: 'a', modules: [''], bindings: [name] }, resolveLimits());
    await t.throwsAsync(checking, { instanceOf: TypeError, message: /not a valid JavaScript identifier/ });
  });
}
