/** The remark of edgehost dev on a function that uses a name that env does not have. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { hintAboutEnv } from '../../src/cli/dev/env-hint.js';
import { answering, folderOf, Program } from './program.js';

test('hintAboutEnv() names what env has and has not, where the line of the error uses env', t => {
  const root = mkdtempSync(join(tmpdir(), 'edgehost-hint-'));
  t.teardown(() => rmSync(root, { recursive: true, force: true }));
  const file = join(root, 'index.js');
  writeFileSync(
    file,
    ['', '  env.KV.get(1);', '  c.env?.CACHE.get(2);', '  this.env.A + env.B.x();', '  other.get();'].join('\n'),
  );
  const hint = (line: number, names: string[], first = 'TypeError: Cannot read properties of undefined'): unknown =>
    hintAboutEnv({ stack: `${first}\n    at Object.fetch (index.js:${line}:3)\n    at index.js:9:9` }, names, [file]);
  t.is(hint(3, ['KV', 'DB']), 'env has KV, DB; no CACHE');
  t.is(hint(4, []), 'env has nothing; no A, B');
  t.is(hint(2, ['KV']), undefined);
  t.is(hint(5, ['KV']), undefined);
  t.is(hint(99, ['KV']), undefined);
  t.is(hint(3, ['KV'], 'Error: own'), undefined);
  t.is(hintAboutEnv({ stack: '' }, [], [file]), undefined);
  t.is(hintAboutEnv({ stack: 'TypeError: x\n    at gone.js:1:1' }, [], [file, join(root, 'gone.js')]), undefined);
});

test('edgehost dev says what env has, when a function uses a binding that is not there', async t => {
  t.timeout(240_000);
  const cwd = await folderOf(t, {
    'edgehost.toml':
      'name = "f"\nmain = "index.js"\n[vars]\nGREETING = "hi"\n[[kv_namespaces]]\nbinding = "KV"\nid = "kv"\n',
    'index.js':
      'export default {\n  async fetch(request, env) {\n    return new Response(await env.CACHE.get("a"));\n  },\n};\n',
    'other/index.js': answering('x'),
  });
  const dev = new Program(t, ['dev', '--port', '0'], { cwd });
  const [, url = ''] = await dev.printed(/Listening on (\S+)/);
  t.is((await fetch(`${url}/f/`)).status, 500);
  await dev.printed(/Cannot read properties of undefined \(reading 'get'\)\n {2}env has KV, GREETING; no CACHE\n/);
  t.is((await dev.stop('SIGINT')).code, 0);
});
