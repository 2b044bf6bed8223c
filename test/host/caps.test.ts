/** The settings of a function, whatever their source, do not exceed what the owner of the host allows its account. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { AccountLimits } from '../../src/host/account-limits.js';
import { type AccountOptions, EdgeError, type EdgeHost } from '../../src/index.js';
import { FORMER_KINDS, INVOCATION_KINDS, LIMIT_NAMES, LIMITS, limitRow } from '../../src/quotas/limits.js';
import type { LimitOverrides } from '../../src/quotas/resolve-limits.js';
import { handler, newHost, textOf } from './new-host.js';

const HOST = { plan: 'standard', zonePlan: 'free', limits: {} } as const;
const OK = handler('return new Response("ok");');

function limitsOf(options: AccountOptions, limits: LimitOverrides, author: 'owner' | 'file' | 'customer' | 'stored') {
  const lowered: string[] = [];
  const resolved = new AccountLimits(HOST, options).of({ name: 'f', limits, usageModel: undefined }, author, message =>
    lowered.push(message),
  );
  return { resolved, lowered };
}

for (const name of LIMIT_NAMES) {
  const { by, max } = limitRow(name);
  const own = new AccountLimits(HOST, { plan: 'free' }).own[name];
  const least = typeof own === 'number' ? own : own.fetch;
  const more = Math.min(least + 1, max);
  if (more === least) continue;
  test(`a customer lowers ${name} and does not raise it`, t => {
    for (const author of ['file', 'customer'] as const) {
      const error = t.throws(() => limitsOf({ plan: 'free' }, { [name]: more }, author), {
        instanceOf: EdgeError,
        code: 'EDGE_LIMIT_EXCEEDED',
      });
      t.true(error?.message.includes(`option caps.${name} of the account`), error?.message);
      t.deepEqual(error?.limit, { name, actual: more, allowed: least });
      const lower = Math.max(LIMITS[name].min, least - 1);
      const { [name]: value } = limitsOf({ plan: 'free' }, { [name]: lower }, author).resolved;
      t.is(typeof value === 'number' ? value : value.fetch, lower);
    }
    if (by === 'kind') {
      for (const kind of INVOCATION_KINDS) {
        const limits = { [name]: { [kind]: more } };
        t.throws(() => limitsOf({ plan: 'free' }, limits, 'customer'), { code: 'EDGE_LIMIT_EXCEEDED' });
      }
      for (const kind of Object.keys(FORMER_KINDS)) {
        const limits = { [name]: { [kind]: more } };
        t.throws(() => limitsOf({ plan: 'free' }, limits, 'customer'), { code: 'EDGE_LIMIT_EXCEEDED' });
      }
    }
  });
}

test('caps let a customer go further than the plan, as far as they say', t => {
  const options = { plan: 'free', caps: { cpuMs: 50, subrequests: 200 } } as const;
  t.is(limitsOf(options, {}, 'customer').resolved.cpuMs.fetch, 10);
  t.is(limitsOf(options, { cpuMs: 50 }, 'customer').resolved.cpuMs.fetch, 50);
  t.is(limitsOf(options, { subrequests: 200 }, 'file').resolved.subrequests, 200);
  t.throws(() => limitsOf(options, { cpuMs: 51 }, 'customer'), { code: 'EDGE_LIMIT_EXCEEDED' });
  t.throws(() => limitsOf(options, { cpuMs: { scheduled: 51 } }, 'file'), { code: 'EDGE_LIMIT_EXCEEDED' });
});

test('caps hold for load() too, and lower a plan that has more', t => {
  const options = { plan: 'standard', caps: { cpuMs: { fetch: 50 }, subrequests: 20 } } as const;
  const { cpuMs, subrequests } = limitsOf(options, {}, 'owner').resolved;
  t.deepEqual([cpuMs.fetch, cpuMs.scheduled, subrequests], [50, 900_000, 20]);
  t.throws(() => limitsOf(options, { subrequests: 21 }, 'owner'), { code: 'EDGE_LIMIT_EXCEEDED' });
  t.is(limitsOf(options, { cpuMs: { scheduled: 1_000_000 } }, 'owner').resolved.cpuMs.scheduled, 1_000_000);
  t.is(limitsOf({ plan: 'free' }, { subrequests: 500 }, 'owner').resolved.subrequests, 500);
});

test('what is stored and no longer allowed is lowered, and the owner hears of it', t => {
  const { resolved, lowered } = limitsOf({ plan: 'free' }, { cpuMs: 60_000 }, 'stored');
  t.deepEqual(resolved.cpuMs, { fetch: 10, scheduled: 10, queue: 10, alarm: 10, tail: 10 });
  t.is(lowered.length, 1);
  t.regex(lowered[0] ?? '', /Function "f" is loaded with less than it asks for.* cpuMs is 10 ms/);
});

function folderWith(t: ExecutionContext, limits: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'edgehost-caps-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, 'index.js'), OK);
  writeFileSync(join(folder, 'edgehost.toml'), `name = "f"\nmain = "index.js"\n[limits]\n${limits}\n`);
  return folder;
}

test('edgehost.toml lifts no limit of the plan', async t => {
  const host = newHost(t);
  const acme = host.account('acme', { plan: 'free' });
  await t.throwsAsync(acme.loadFile(folderWith(t, 'subrequests = 5000')), {
    code: 'EDGE_LIMIT_EXCEEDED',
    message: /its own setting of subrequests is 5,000, limit subrequests is 50 .*caps\.subrequests/,
  });
  await t.throwsAsync(acme.loadFile(folderWith(t, 'functions = 5000')), { code: 'EDGE_LIMIT_EXCEEDED' });
  await t.throwsAsync(acme.loadFile(folderWith(t, '[limits.cpu_ms]\ncron = 11')), { code: 'EDGE_LIMIT_EXCEEDED' });
  const fn = await acme.loadFile(folderWith(t, 'subrequests = 1'));
  t.is(await textOf(fn.fetch('http://x/')), 'ok');
  // The application's own code says otherwise.
  await acme.loadFile(folderWith(t, 'subrequests = 5000'), { limits: { subrequests: 60 } });
});

test('the memory of an isolate goes up to the caps of its account', async t => {
  const host = newHost(t);
  const MB = 1024 * 1024;
  const limits = { memoryBytes: 64 * MB };
  const acme = host.account('acme', { limits, caps: { memoryBytes: 96 * MB } });
  await acme.loadFile(folderWith(t, `memory_bytes = ${96 * MB}`));
  await t.throwsAsync(acme.loadFile(folderWith(t, `memory_bytes = ${97 * MB}`)), { code: 'EDGE_LIMIT_EXCEEDED' });
  t.is(acme.limits.memoryBytes, 64 * MB);
});

interface Api {
  readonly host: EdgeHost;
  call(method: string, path: string, body?: FormData | object): Promise<Response>;
}

function api(t: ExecutionContext, options: AccountOptions): Api {
  const host = newHost(t);
  host.account('acme', options);
  const token = 'a-token-of-the-test-as-long-as-it-has-to-be';
  const management = host.management({
    tokens: [{ name: 'edit', token, account: 'acme', permissions: ['functions:edit', 'functions:read'] }],
  });
  return {
    host,
    call: (method, path, body) =>
      management(
        new Request(`http://api.test/accounts/acme/functions/${path}`, {
          method,
          headers: {
            authorization: `Bearer ${token}`,
            ...(body !== undefined && !(body instanceof FormData) && { 'content-type': 'application/json' }),
          },
          body: body === undefined ? null : body instanceof FormData ? body : JSON.stringify(body),
        }),
      ),
  };
}

function upload(metadata: object): FormData {
  const form = new FormData();
  form.set('metadata', JSON.stringify({ main_module: 'index.js', ...metadata }));
  form.set('index.js', new File([OK], 'index.js', { type: 'application/javascript+module' }));
  return form;
}

test('a management token lifts neither CPU time nor usage model: by upload, version, settings or deployment', async t => {
  const { call, host } = api(t, { plan: 'free' });
  const refused = async (method: string, path: string, body: FormData | object): Promise<void> => {
    const answer = await call(method, path, body);
    t.is(answer.status, 403, `${method} ${path}`);
    const text = await answer.text();
    t.regex(text, /"code":4005/);
    t.regex(text, /caps\.cpuMs of the account|only the owner of the host changes/);
  };
  for (const path of ['f', 'new']) {
    await refused('PUT', path, upload({ limits: { cpu_ms: 60_000 } }));
    await refused('PUT', path, upload({ usage_model: 'unbound' }));
  }
  t.is((await call('PUT', 'f', upload({ limits: { cpu_ms: 5 }, usage_model: 'free' }))).status, 200);
  await refused('POST', 'f/versions', upload({ limits: { cpu_ms: 60_000 } }));
  await refused('POST', 'f/versions', upload({ usage_model: 'standard' }));
  await refused('PATCH', 'f/settings', { usage_model: 'unbound' });
  await refused('PATCH', 'f/settings', { limits: { cpu_ms: 11 } });
  t.is((await call('PATCH', 'f/settings', { limits: { cpu_ms: 10 } })).status, 200);
  t.is(
    await textOf(Promise.resolve((await host.account('acme').function('f')?.fetch('http://x/')) ?? new Response())),
    'ok',
  );
});
