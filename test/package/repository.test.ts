import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import test from 'ava';
import { ROOT } from '../docs/markdown.js';

interface LockEntry {
  readonly resolved?: string;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const lock: { readonly packages: Readonly<Record<string, LockEntry>> } = JSON.parse(
  readFileSync(join(ROOT, 'package-lock.json'), 'utf8'),
);

test('package-lock.json carries no addresses', t => {
  t.deepEqual(
    Object.entries(lock.packages).filter(([, entry]) => entry.resolved !== undefined),
    [],
  );
});

test('package-lock.json has the optional packages of every platform, without which npm ci refuses it', t => {
  const names = new Set(Object.keys(lock.packages).map(path => path.slice(path.lastIndexOf('node_modules/') + 13)));
  const missing = Object.entries(lock.packages).flatMap(([path, entry]) =>
    path === '' ? [] : Object.keys(entry.optionalDependencies ?? {}).filter(name => !names.has(name)),
  );
  t.deepEqual(missing, [], 'run node .scripts/complete-lock.mjs');
});

test('no file names the host of a package registry', t => {
  // In two parts, so that this file does not contain it.
  const pattern = ['registry[.](npmjs|yarnpkg)', 'npm[.]pkg[.]github', ['npm', 'mirror'].join('')].join('|');
  const files = execFileSync('git', ['ls-files', '-z'], { cwd: ROOT, encoding: 'utf8' }).split('\0').filter(Boolean);
  const naming = files.filter(file => new RegExp(pattern).test(readFileSync(join(ROOT, file), 'latin1')));
  t.deepEqual(naming, []);
});

for (const [what, bugs, isRefused] of [
  ['of nobody', 'https://edgehost.invalid/issues', true],
  ['that are missing', undefined, true],
  ['that are none', 'issues', true],
  ['of the project', { url: 'https://example.com/issues' }, false],
] as const) {
  test(`npm publish ${isRefused ? 'is refused for' : 'takes'} addresses ${what}`, t => {
    const cwd = mkdtempSync(join(tmpdir(), 'edgehost-publish-'));
    t.teardown(() => rmSync(cwd, { recursive: true }));
    const repository = { type: 'git', url: 'git+https://example.com/edgehost.git' };
    const manifest = { homepage: 'https://example.com/', bugs, repository };
    writeFileSync(join(cwd, 'package.json'), JSON.stringify(manifest));
    const script = join(ROOT, '.scripts/check-publishing.mjs');
    const { status, stderr } = spawnSync(process.execPath, [script], { cwd, encoding: 'utf8' });
    t.is(status, isRefused ? 1 : 0);
    t.is(stderr.includes('in package.json bugs is'), isRefused);
    const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
    t.is(scripts.prepublishOnly, 'node .scripts/check-publishing.mjs');
  });
}
