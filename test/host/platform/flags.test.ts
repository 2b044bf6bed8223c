/** Compatibility flags: each by its name, by the date, and switched off again. */
import test from 'ava';
import { ALWAYS_ON } from '../../../src/bindings/always-on-flags.js';
import {
  COMPATIBILITY_FLAGS,
  contradiction,
  flagsInForce,
  flagsOfDateThere,
  isInForce,
  NEVER_ON,
  SWITCHES,
} from '../../../src/bindings/compatibility-flags.js';
import { newHost, textOf } from '../new-host.js';

const dayBefore = (date: string): string => new Date(Date.parse(date) - 86_400_000).toISOString().slice(0, 10);

test('a flag holds from its date on, by its name before, and never with the one that switches it off', t => {
  for (const row of SWITCHES) {
    if ('isOfNode' in row) continue;
    const early = '2021-01-01';
    t.true(isInForce(row.flag, early, [row.flag]), row.flag);
    if ('alias' in row) t.true(isInForce(row.flag, early, [row.alias]), row.alias);
    t.false(isInForce(row.flag, early, []), row.flag);
    if ('from' in row) {
      t.true(isInForce(row.flag, row.from, []), row.flag);
      t.false(isInForce(row.flag, dayBefore(row.from), []), row.flag);
      if ('off' in row) t.false(isInForce(row.flag, row.from, [row.off]), row.off);
    }
    if ('fromThere' in row) {
      t.true(flagsOfDateThere(row.fromThere, []).includes(row.flag));
      t.false(flagsOfDateThere(dayBefore(row.fromThere), []).includes(row.flag));
      t.false(flagsOfDateThere(row.fromThere, [row.off]).includes(row.flag));
    }
    if ('off' in row) t.deepEqual(contradiction([row.off, row.flag]), [row.flag, row.off]);
  }
  t.is(contradiction(COMPATIBILITY_FLAGS.filter(flag => !SWITCHES.some(row => row.flag === flag))), undefined);
});

test('flags of modules of Node hold with nodejs_compat alone, by its name or its date', t => {
  const rows = SWITCHES.filter(row => 'isOfNode' in row);
  const names = rows.map(row => row.flag);
  const ofNode = (date: string, named: readonly string[]): readonly string[] =>
    flagsInForce(date, named).filter(flag => names.some(name => name === flag));
  t.deepEqual(ofNode('2026-08-04', []), names);
  t.deepEqual(ofNode('2026-08-03', []), []);
  t.deepEqual(ofNode('2026-08-04', ['no_nodejs_compat']), []);
  t.deepEqual(ofNode('2021-01-01', ['nodejs_compat']), ['nodejs_compat']);
  t.deepEqual(ofNode('2021-01-01', ['nodejs_compat_v2']), ['nodejs_compat', 'nodejs_compat_v2']);
  for (const row of rows) {
    if (!('off' in row)) continue;
    t.false(ofNode('2026-08-04', [row.off]).includes(row.flag), row.off);
    t.true(ofNode(row.from, ['nodejs_compat']).includes(row.flag), row.flag);
    t.is(ofNode(dayBefore(row.from), ['nodejs_compat']).includes(row.flag), row.flag === 'nodejs_compat');
    t.true(ofNode('2021-01-01', ['nodejs_compat', row.flag]).includes(row.flag), row.flag);
  }
});

test('no name stands in the table twice', t => {
  const names = [...COMPATIBILITY_FLAGS, ...ALWAYS_ON, ...Object.keys(NEVER_ON)];
  t.deepEqual([...new Set(names)].length, names.length);
});

const PROBE = `
  import { env } from 'cloudflare:workers';
  export default { async fetch() {
    return Response.json({
      agent: typeof navigator === 'undefined' ? 'none' : navigator.userAgent,
      language: typeof navigator === 'undefined' ? 'none' : navigator.language ?? 'absent',
      method: new Request('http://a', { method: 'patch' }).method,
      body: await new Response((function* () { yield 'a'; })()).text(),
      env: Object.keys(env),
      binary: new WebSocketPair()[0].binaryType,
      flags: Object.keys(Cloudflare.compatibilityFlags).filter(flag => !${JSON.stringify(ALWAYS_ON)}.includes(flag)),
      always: Cloudflare.compatibilityFlags.url_standard,
      absent: Cloudflare.compatibilityFlags.allow_eval_during_startup ?? 'absent',
    });
  } };`;

test('the flags change what a function finds, by name and by date', async t => {
  const host = newHost(t);
  let count = 0;
  const probe = async (
    compatibilityDate: string,
    compatibilityFlags: readonly string[],
  ): Promise<Record<string, unknown>> => {
    const fn = await host.load(PROBE, {
      name: `probe-${++count}`,
      compatibilityDate,
      compatibilityFlags,
      vars: { A: '1' },
    });
    const found: Record<string, unknown> = JSON.parse(await textOf(fn.fetch('http://x/')));
    fn.unload();
    return found;
  };
  t.deepEqual(await probe('2026-08-01', []), {
    agent: 'EdgeHost',
    language: 'en',
    method: 'patch',
    body: 'a',
    env: ['A'],
    binary: 'blob',
    flags: flagsInForce('2026-08-01', []),
    always: true,
    absent: 'absent',
  });
  const named = [
    'global_navigator',
    'enable_navigator_language',
    'upper_case_all_http_methods',
    'fetch_iterable_type_support',
    'disallow_importable_env',
    'websocket_standard_binary_type',
    'url_standard',
  ];
  t.like(await probe('2021-01-01', named), {
    agent: 'Cloudflare-Workers',
    language: 'en',
    method: 'PATCH',
    body: 'a',
    env: [],
    binary: 'blob',
  });
  const off = [
    'no_global_navigator',
    'no_upper_case_all_http_methods',
    'no_fetch_iterable_type_support',
    'allow_importable_env',
    'no_websocket_standard_binary_type',
  ];
  t.like(await probe('2026-08-01', off), {
    agent: 'none',
    method: 'patch',
    body: '[object Generator]',
    env: ['A'],
    binary: 'arraybuffer',
  });
  t.like(await probe('2026-08-01', ['disable_navigator_language']), { language: 'absent' });
});

test('load() refuses two flags that contradict each other, and a flag that never holds', async t => {
  const host = newHost(t);
  const load = (...compatibilityFlags: string[]): Promise<unknown> => host.load(PROBE, { compatibilityFlags });
  await t.throwsAsync(load('global_navigator', 'no_global_navigator'), {
    instanceOf: TypeError,
    message: /compatibilityFlags.*it has both global_navigator and no_global_navigator/,
  });
  await t.throwsAsync(load('url_original'), { instanceOf: TypeError, message: /docs\/compatibility\.md/ });
});

/** Flags of the list that can be seen from inside a function. */
const ALWAYS = `
  const thrown = async act => { try { await act(); return false; } catch { return true; } };
  const rejects = act => { try { act().catch(() => {}); return true; } catch { return false; } };
  const form = async text => (await new Response(text, { headers: { 'content-type': 'multipart/form-data; boundary=b' } }).formData()).get('f');
  return Response.json({
    capture_async_api_throws: rejects(() => crypto.subtle.digest('none', new Uint8Array())),
    disallow_eval_during_startup: await thrown(() => eval('1')),
    enable_ctx_exports: typeof ctx.exports === 'object',
    enable_global_performance_classes: typeof PerformanceMark === 'function' && typeof PerformanceObserver === 'function',
    enable_request_signal: request.signal instanceof AbortSignal,
    expose_global_message_channel: typeof MessageChannel === 'function',
    fetch_refuses_unknown_protocols: await thrown(() => fetch('ftp://a/')),
    formdata_parser_supports_files: await form('--b\\r\\ncontent-disposition: form-data; name="f"; filename="x"\\r\\n\\r\\ny\\r\\n--b--\\r\\n') instanceof File,
    http_headers_getsetcookie: new Headers([['set-cookie', 'a']]).getSetCookie().length === 1,
    no_global_importscripts: typeof importScripts === 'undefined',
    set_tostring_tag: String(new Headers()) === '[object Headers]',
    strict_compression_checks: await thrown(() => new Response(new Response(new Uint8Array([1, 2])).body.pipeThrough(new DecompressionStream('gzip'))).text()),
    streams_enable_constructors: new ReadableStream() instanceof ReadableStream,
    unwrap_custom_thenables: await (async () => ({ then: resolve => resolve(1) }))() === 1,
    url_standard: new URL('http://a/ b').pathname === '/%20b',
    urlpattern_standard: new URLPattern({ pathname: '/:a' }).test('http://x/y'),
    urlsearchparams_delete_has_value_arg: new URLSearchParams('a=1').has('a', '2') === false,
    workers_api_getters_setters_on_prototype: 'url' in Request.prototype,
  });`;

test('flags that the documentation calls always on are on', async t => {
  const host = newHost(t);
  const fn = await host.load(`export default { async fetch(request, env, ctx) { ${ALWAYS} } };`, {
    compatibilityDate: '2021-01-01',
  });
  const found: Record<string, boolean> = JSON.parse(await textOf(fn.fetch('http://x/')));
  t.deepEqual(
    Object.entries(found).filter(([flag, isOn]) => !isOn || !ALWAYS_ON.includes(flag)),
    [],
  );
});
