/** Sources that keep a parser busy, or overflow its stack: in a cell of their author's account, within its CPU time. */
import test from 'ava';
import type { EdgeFunction } from '../../../src/index.js';
import { ISOLATIONS, newHost } from '../new-host.js';

for (const isolation of ISOLATIONS) {
  test(`an attacker's source that parsers of TypeScript take years for ends at limit cpuMs (${isolation})`, async t => {
    const box = newHost(t, { isolation })
      .account('acme')
      .sandbox({ limits: { cpuMs: 300 } });
    const { status, error } = await box.run('x = <T>(y = '.repeat(60));
    t.is(status, 'limit');
    t.is(error?.code, 'EDGE_CPU_LIMIT');
    t.like(await box.run('return 1'), { status: 'ok', value: 1 });
  });

  test(`an attacker's 256 KB of brackets fail before the end of the stack, and the parser works after them (${isolation})`, async t => {
    const box = newHost(t, { isolation })
      .account('acme')
      .sandbox({ limits: { cpuMs: 20_000 } });
    for (const part of ['(', '{', '`${', 'async()=>{', 'a<', '1+']) {
      const { status, error } = await box.run(part.repeat(256_000 / part.length));
      t.is(status, 'failed');
      t.is(error?.name, 'SyntaxError');
      t.regex(error?.message ?? '', /^The code is nested too deeply/);
      t.like(await box.run('const a: number = 1; return a'), { status: 'ok', value: 1 });
    }
  });

  test(`a syntax error of TypeScript has its line and column in the source as it was given (${isolation})`, async t => {
    const box = newHost(t, { isolation }).account('acme').sandbox();
    const { error } = await box.run('const a: number = 1;\n  const b: string = ;');
    t.regex(error?.stack ?? '', /run\.js:2:21/);
  });
}

const NESTED = 100_000;

/** Texts of modules whose parts are nested more deeply than a parser's stack is. */
const DEEP: readonly string[] = [
  `${'['.repeat(NESTED)}${']'.repeat(NESTED)}`,
  `${'('.repeat(NESTED)}1${')'.repeat(NESTED)}`,
  `${'`${'.repeat(NESTED)}1${'}`'.repeat(NESTED)}`,
  `1; import.meta.url; const deeper = ${'function(){ return '.repeat(NESTED)}1${'}'.repeat(NESTED)}`,
];

for (const isolation of ISOLATIONS) {
  test(`an attacker's 100,000 nested parts in load(), a loader and a session fail with their place, and functions beside them go on (${isolation})`, async t => {
    const host = newHost(t, { isolation });
    const account = host.account('acme', { limits: { startupMs: 20_000, cpuMs: 30_000 } });
    const beside = await account.load('export default { fetch: () => new Response("fine") }', { name: 'beside' });
    const loading = await account.load(
      `export default { async fetch(request, env) {
        const mainModule = 'm.js';
        const code = { mainModule, modules: { [mainModule]: await request.text() } };
        try { return await env.LOADER.load(code).getEntrypoint().fetch('http://x/'); } catch (error) { return new Response(error.message); }
      } }`,
      { name: 'loading', loaders: { LOADER: {} } },
    );
    const session = account.sandbox({ limits: { cpuMs: 20_000, sourceBytes: 16_000_000 } }).session('one');
    for (const text of DEEP) {
      const source = `const deep = ${text};`;
      const error = await t.throwsAsync(account.load(source, { name: 'deep' }), { code: 'EDGE_SCRIPT_SYNTAX' });
      t.regex(error?.message ?? '', /does not parse: .* \(deep\.js:1:\d+\)/);
      t.regex(await textOf(loading, source), /Maximum call stack size exceeded/);
      const run = await session.run(source);
      t.is(run.error?.name, 'SyntaxError');
      t.regex(run.error?.stack ?? '', /run\.js:1:\d+/);
      t.is(await textOf(beside), 'fine');
    }
    // JSON is read without recursion.
    const modules = {
      'a.js': 'import deep from "./deep.json"; export default { fetch: () => new Response(String(deep.length)) }',
    };
    const json = `${'['.repeat(NESTED)}${']'.repeat(NESTED)}`;
    const fn = await account
      .load({ main: 'a.js', modules: { ...modules, 'deep.json': json } }, { name: 'json' })
      .catch(String);
    t.is(typeof fn === 'string' ? fn : await textOf(fn), '1');
    t.is(await textOf(beside), 'fine');
  });
}

async function textOf(fn: EdgeFunction, body?: string): Promise<string> {
  const response = await fn.fetch('http://x/', body === undefined ? {} : { method: 'POST', body });
  return await response.text();
}
