/** Only the user of its host can read the storage, whatever the umask is and whichever way the directory was created. */
import { execFile } from 'node:child_process';
import { chmod, chown, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { ExecutionContext } from 'ava';
import { EdgeHost } from '../../../src/index.js';
import { errorCode } from '../../../src/quotas/errors.js';
import { Storage } from '../../../src/storage/storage.js';
import { temporaryDirectory } from '../../bindings/bucket/stores.js';
import { unlessMissing } from '../../needs.js';

const hasModes = process.platform !== 'win32';
/** Modes are not those of Windows. */
const posix = unlessMissing(hasModes ? undefined : 'not POSIX');
/** Only root can give a directory away. */
const asRoot = unlessMissing(process.geteuid?.() === 0 ? undefined : 'not root');

async function modeOf(path: string): Promise<string> {
  return ((await stat(path)).mode & 0o777).toString(8);
}

/** Opens and closes it; the warnings. */
async function open(directory: string, isStrict = false): Promise<string[]> {
  const warnings: string[] = [];
  const storage = await Storage.open(directory, {
    access: { isStrict, onWarning: ({ message }) => warnings.push(message) },
  });
  await storage.close();
  return warnings;
}

/** The directory as earlier releases left it: all users may read it, and the marker does not mention that. */
async function openedToAll(t: ExecutionContext): Promise<string> {
  const directory = await temporaryDirectory(t);
  await open(directory);
  await writeFile(
    join(directory, 'FORMAT'),
    '{"format":"edgehost storage","version":3,"isIndexed":true,"isSealed":true}\n',
  );
  for (const name of ['level', 'bodies', '.']) await chmod(join(directory, name), 0o755);
  return directory;
}

const WRITER = `
  import { EdgeHost } from ${JSON.stringify(new URL('../../../src/index.js', import.meta.url).href)};
  process.umask(Number(process.argv[2]));
  const host = new EdgeHost({ storage: process.argv[3] });
  await host.bucket('files').put('large', new Uint8Array(200_000));
  await host.bucket('files').put('small', 'x');
  await host.management().issueToken({ name: 'x', account: '*', permissions: [] });
  await host.close();
`;

for (const umask of [0o000, 0o022, 0o077]) {
  posix(`a storage is 0700, and its files 0600, under umask ${umask.toString(8).padStart(3, '0')}`, async t => {
    const directory = join(await temporaryDirectory(t), 'above', 'data');
    const script = join(await temporaryDirectory(t), 'writer.mjs');
    await writeFile(script, WRITER);
    await promisify(execFile)(process.execPath, ['--no-warnings', script, String(umask), directory]);
    t.is(await modeOf(directory), '700');
    const names = await readdir(directory, { recursive: true, withFileTypes: true });
    t.true(names.some(entry => entry.isFile() && /[\\/]bodies[\\/]/.test(entry.parentPath)));
    for (const entry of names) {
      const path = join(entry.parentPath, entry.name);
      const isLevelDb = /[\\/](level|management)$/.test(entry.parentPath);
      if (entry.isDirectory()) t.is(await modeOf(path), '700', path);
      // LevelDB creates its files itself; other users cannot reach them through the directory.
      else if (!isLevelDb) t.is(await modeOf(path), '600', path);
    }
  });
}

posix(
  'Storage.open() closes a directory of an earlier release that everybody could read, once and silently',
  async t => {
    const directory = await openedToAll(t);
    t.deepEqual(await open(directory, true), []);
    for (const name of ['.', 'level', 'bodies']) t.is(await modeOf(join(directory, name)), '700', name);
    t.is(await modeOf(join(directory, 'FORMAT')), '600');
    t.like(JSON.parse(await readFile(join(directory, 'FORMAT'), 'utf8')), { isIndexed: true, isPrivate: true });
  },
);

posix('Storage.open() closes an empty directory that it is given', async t => {
  const directory = await temporaryDirectory(t);
  await mkdir(join(directory, 'volume'), { mode: 0o755 });
  t.deepEqual(await open(join(directory, 'volume'), true), []);
  t.is(await modeOf(join(directory, 'volume')), '700');
});

for (const mode of [0o750, 0o701, 0o770, 0o777, 0o704]) {
  const text = mode.toString(8);
  posix(
    `Storage.open() warns of a directory that was opened to others since, ${text}, and refuses it when that is strict`,
    async t => {
      const directory = await temporaryDirectory(t);
      await open(directory);
      await chmod(directory, mode);
      const warnings = await open(directory);
      t.is(warnings.length, 1);
      t.true(warnings[0]?.includes(`(mode ${text}); chmod 700 ${directory}`), warnings[0]);
      t.is(await modeOf(directory), text);
      const before = await readdir(directory);
      await t.throwsAsync(open(directory, true), { code: 'EDGE_STORAGE_ACCESS', message: /chmod 700/ });
      t.deepEqual(await readdir(directory), before);
      await chmod(directory, 0o700);
      t.deepEqual(await open(directory, true), []);
    },
  );
}

asRoot('Storage.open() warns of a directory of another user, and refuses it when that is strict', async t => {
  const directory = await temporaryDirectory(t);
  await open(directory);
  await chown(directory, 12_345, 12_345);
  t.regex((await open(directory)).join(), /belongs to user 12345 and this process runs as user 0; chown 0 /);
  await t.throwsAsync(open(directory, true), { code: 'EDGE_STORAGE_ACCESS' });
});

posix('Storage.open() leaves a directory that is not a storage as it is', async t => {
  const directory = await temporaryDirectory(t);
  await writeFile(join(directory, 'letter.txt'), 'x');
  await chmod(directory, 0o755);
  await t.throwsAsync(open(directory), { code: 'EDGE_STORAGE_FORMAT' });
  t.is(await modeOf(directory), '755');
});

posix('a host warns of a storage that others can read, and refuses it with sandbox strict', async t => {
  const directory = await temporaryDirectory(t);
  await open(directory);
  await chmod(directory, 0o755);
  const host = new EdgeHost({ storage: directory });
  const warnings: unknown[] = [];
  host.on('warning', error => warnings.push(errorCode(error)));
  await host.bucket('files').put('a', 'b');
  await host.close();
  t.deepEqual(warnings, ['EDGE_STORAGE_ACCESS']);
  const strict = new EdgeHost({ storage: directory, sandbox: 'strict' });
  t.teardown(() => strict.close());
  await t.throwsAsync(strict.bucket('files').put('a', 'b'), { code: 'EDGE_STORAGE_ACCESS' });
});
