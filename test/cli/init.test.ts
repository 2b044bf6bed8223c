import { execFile } from 'node:child_process';
import { readdir, readFile, realpath, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import test from 'ava';
import { ownDependency } from '../../src/cli/init/own-package.js';
import { ROOT } from '../docs/markdown.js';
import { edgehost, folderOf, Program, put, textOf } from './program.js';

for (const [language, options, script] of [
  ['TypeScript', [], 'index.ts'],
  ['JavaScript', ['--javascript'], 'index.js'],
] as const) {
  test(`edgehost init writes a function in ${language} that type-checks, loads, and stores what it gets`, async t => {
    t.timeout(120_000);
    const cwd = await folderOf(t, {});
    const { code, out } = await edgehost(t, ['init', 'My notes!', ...options], { cwd });
    t.is(code, 0);
    t.regex(out, /Next:\n {2}cd My notes!\n {2}npm install\n {2}npx edgehost dev\n$/);
    const folder = join(cwd, 'My notes!');
    const files = ['.gitignore', 'edgehost.toml', script, 'package.json', 'tsconfig.json'];
    t.deepEqual((await readdir(folder)).sort(), files.sort());
    t.regex(await readFile(join(folder, 'edgehost.toml'), 'utf8'), /^name = "My-notes-"/);
    await put(join(folder, 'node_modules/.keep'), '');
    await symlink(ROOT, join(folder, 'node_modules/edgehost'));
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
    await t.notThrowsAsync(promisify(execFile)(process.execPath, [tsc, '-p', folder]));
    const dev = new Program(t, ['dev', '--port', '0', '--json'], { cwd: folder });
    const url = await dev.url();
    t.is(await textOf(`${url}/a`), 'Hello from /a\n');
    t.is(await textOf(`${url}/a`, { method: 'PUT', body: 'a note' }), 'stored\n');
    t.is(await textOf(`${url}/a`), 'a note');
    await dev.stop();
    t.true((await readdir(folder)).includes('.edgehost'));
  });
}

test('edgehost init overwrites nothing', async t => {
  const cwd = await folderOf(t, { 'index.ts': 'mine', 'other/package.json': '{"name":"mine"}' });
  const refused = await edgehost(t, ['init'], { cwd });
  t.is(refused.code, 1);
  t.is(refused.err, 'edgehost init: Nothing was written: index.ts would be overwritten\n');
  t.deepEqual((await readdir(cwd)).sort(), ['index.ts', 'other']);
  const beside = await edgehost(t, ['init', 'other', '--name', 'notes'], { cwd });
  t.is(beside.code, 0);
  t.regex(beside.out, /left {2}other\/package\.json as it is/);
  t.is(await readFile(join(cwd, 'other/package.json'), 'utf8'), '{"name":"mine"}');
  t.regex((await edgehost(t, ['init', 'x', '--name', '-x'], { cwd })).err, /needs a value/);
  t.regex(
    (await edgehost(t, ['init', 'x', '--name', 'a b'], { cwd })).err,
    /--name is "a b", expected 1 to 63 letters/,
  );
});

test('edgehost init of a package that no registry has writes where it is, and says so', async t => {
  const cwd = await folderOf(t, {});
  const { code, out } = await edgehost(t, ['init', 'hello'], { cwd });
  t.is(code, 0);
  const { devDependencies } = JSON.parse(await readFile(join(cwd, 'hello/package.json'), 'utf8'));
  t.regex(devDependencies.edgehost, /^file:\.\./);
  t.is(await realpath(join(cwd, 'hello', devDependencies.edgehost.slice('file:'.length))), await realpath(ROOT));
  t.true(out.includes(`does not come from a registry: package.json takes it from ${await realpath(ROOT)}.`));
});

for (const [where, files, expected] of [
  ['a registry', { 'package.json': '{"dependencies":{"edgehost":"^1.2.0"}}' }, '^1.2.3'],
  [
    'a tarball',
    { 'package.json': '{"devDependencies":{"edgehost":"file:packs/edgehost.tgz"}}' },
    'file:packs/edgehost.tgz',
  ],
  [
    'a tarball that package.json does not name',
    {
      'node_modules/.package-lock.json':
        '{"packages":{"node_modules/edgehost":{"resolved":"file:packs/edgehost.tgz"}}}',
    },
    'file:packs/edgehost.tgz',
  ],
  ['a tarball that is gone', { 'package.json': '{"dependencies":{"edgehost":"file:gone.tgz"}}' }, '^1.2.3'],
  ['files that are not JSON', { 'package.json': 'dependencies' }, '^1.2.3'],
] as const) {
  for (const modules of ['node_modules', 'node_modules/.pnpm/edgehost@1.2.3/node_modules']) {
    test(`the package.json of a new project names the edgehost of ${where} (${modules})`, async t => {
      const folder = await realpath(
        await folderOf(t, {
          ...files,
          'packs/edgehost.tgz': '',
          [`${modules}/edgehost/package.json`]: '{"version":"1.2.3"}',
        }),
      );
      const { spec, path } = ownDependency(join(folder, 'hello'), join(folder, modules, 'edgehost'));
      const isOfNpm = modules === 'node_modules' || !('node_modules/.package-lock.json' in files);
      const wanted = isOfNpm ? expected : '^1.2.3';
      t.is(spec, wanted.replace('file:', 'file:../'));
      t.is(path, wanted.startsWith('file:') ? join(folder, wanted.slice('file:'.length)) : undefined);
    });
  }
}
