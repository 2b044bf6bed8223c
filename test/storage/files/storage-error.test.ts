import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import test from 'ava';
import { EdgeHost } from '../../../src/index.js';
import { unavailable } from '../../../src/sqlite/library.js';
import { storageError } from '../../../src/storage/files/storage-error.js';
import { Storage } from '../../../src/storage/storage.js';
import { temporaryDirectory } from '../../bindings/bucket/stores.js';

const nodeError = (code: string): Error => Object.assign(new Error(`${code}: something, open '/data'`), { code });
/** As the library wraps what LevelDB says, which has no code. */
const levelError = (text: string): Error =>
  new Error('Database failed to open', { cause: new Error(`IO error: /data/level/LOCK: ${text}`) });

for (const [code, causes] of [
  ['EDGE_STORAGE_DENIED', [nodeError('EACCES'), nodeError('EPERM'), nodeError('EROFS')]],
  ['EDGE_STORAGE_DENIED', [levelError('Permission denied'), levelError('Read-only file system')]],
  [
    'EDGE_STORAGE_PATH',
    [nodeError('ENOTDIR'), nodeError('EEXIST'), nodeError('ENOENT'), levelError('Not a directory')],
  ],
  ['EDGE_STORAGE_IO', [nodeError('EIO'), levelError('Input/output error')]],
  ['EDGE_STORAGE_DESCRIPTORS', [nodeError('EMFILE'), nodeError('ENFILE'), levelError('Too many open files')]],
  ['EDGE_STORAGE_FULL', [nodeError('ENOSPC'), levelError('No space left on device')]],
] as const) {
  test(`storageError() is ${code} for ${causes.map(({ message, cause }) => (cause ?? message).toString()).join(', ')}`, t => {
    for (const cause of causes) {
      const error = storageError('open the storage directory "data"', cause);
      t.is(error.code, code);
      t.is(error.cause, cause);
      t.true(error.message.startsWith('Cannot open the storage directory "data": '), error.message);
    }
  });
}

test('storageError() names the user of the process and what to do when the storage may not be written', t => {
  const { message } = storageError('open the storage directory "data"', nodeError('EACCES'));
  const user = process.geteuid?.() ?? 'the user';
  t.regex(message, new RegExp(`${user}.*(?:chown|rights).*mount a volume`));
});

test('Storage.open() rejects with EDGE_STORAGE_PATH when the path is a file, or goes through one', async t => {
  const folder = await temporaryDirectory(t);
  await writeFile(join(folder, 'file'), 'x');
  for (const path of [join(folder, 'file'), join(folder, 'file', 'below')]) {
    const error = await t.throwsAsync(Storage.open(path), { code: 'EDGE_STORAGE_PATH' });
    t.true(error.message.includes(path), error.message);
  }
});

test('EdgeHost refuses an empty path of a storage', t => {
  t.throws(() => new EdgeHost({ storage: '' }), { instanceOf: TypeError, message: /storage/ });
});

test('unavailable() says that the disk is full, and not to install SQLite, when the disk is full', t => {
  const full = unavailable('ENOSPC: no space left on device, write');
  t.is(full.code, 'EDGE_STORAGE_FULL');
  t.notRegex(full.message, /Install SQLite/);
  t.regex(unavailable('there is none').message, /Install SQLite/);
});

test.serial('a storage in memory says what is wrong with TMPDIR when SQL databases need it', async t => {
  const folder = await temporaryDirectory(t);
  await mkdir(join(folder, 'there'));
  const before = process.env.TMPDIR;
  process.env.TMPDIR = join(folder, 'missing');
  const host = new EdgeHost({ storage: ':memory:' });
  t.teardown(async () => {
    if (before === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = before;
    await host.close();
  });
  const error = await t.throwsAsync(host.sql('data').exec('SELECT 1'), { code: 'EDGE_STORAGE_PATH' });
  t.regex(error.message, /temporary directory ".*missing"/);
});
