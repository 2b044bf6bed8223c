import { readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { EdgeHost, type RepairStep, repairStorage } from '../../src/index.js';
import { edgehost, folderOf } from './program.js';

async function damaged(t: ExecutionContext): Promise<string> {
  const folder = await folderOf(t, {});
  const directory = join(folder, 'data');
  const host = new EdgeHost({ storage: directory });
  await host.bucket('files').put('key', 'kept');
  await host.close();
  await rm(join(directory, 'level/CURRENT'));
  return directory;
}

async function readKey(directory: string): Promise<string | undefined> {
  const host = new EdgeHost({ storage: directory });
  try {
    const object = await host.bucket('files').get('key');
    return object !== null && 'body' in object ? await object.text() : undefined;
  } finally {
    await host.close();
  }
}

test('edgehost repair makes a damaged storage directory one that opens, says what it does, and copies it first', async t => {
  const directory = await damaged(t);
  await t.throwsAsync(readKey(directory), { code: 'EDGE_STORAGE_CORRUPT', message: /edgehost repair DIR/ });
  const { code, out } = await edgehost(t, ['repair', directory, '--copy', `${directory}.copy`]);
  t.is(code, 0);
  t.regex(out, /^copying .*\nrepairing the database .*\/level\n.*opening it, .*\ndone: /s);
  t.is(await readKey(directory), 'kept');
  t.false((await readdir(join(`${directory}.copy`, 'level'))).includes('CURRENT'));
  const again = await edgehost(t, ['repair', directory, '--copy', `${directory}.copy`]);
  t.is(again.code, 1);
  t.regex(again.err, /Cannot copy .*, and nothing was repaired/);
});

test('repairStorage() calls back with each step, repairs every database, and names the files that it has moved', async t => {
  const directory = await damaged(t);
  await writeFile(join(directory, 'level', '000777.ldb'), 'garbage');
  const { Level } = await import('level');
  const other = new Level(join(directory, 'management'));
  await other.put('a', 'b');
  await other.close();
  const steps: RepairStep[] = [];
  const { databases } = await repairStorage(directory, { onStep: step => steps.push(step) });
  t.deepEqual(steps, [
    { kind: 'repair', database: 'level' },
    { kind: 'repair', database: 'management' },
    { kind: 'rebuild' },
  ]);
  t.deepEqual(
    databases.map(({ name }) => name),
    ['level', 'management'],
  );
  t.true(databases[0]?.movedFiles.includes('000777.ldb'), JSON.stringify(databases));
  t.is(await readKey(directory), 'kept');
});

test('edgehost repair refuses what is no storage and makes nothing there, and one that is open', async t => {
  const folder = await folderOf(t, { 'notes/a.txt': 'x' });
  for (const path of ['nowhere', 'notes']) {
    const { code, err } = await edgehost(t, ['repair', path], { cwd: folder });
    t.is(code, 1);
    t.regex(err, /there is no storage, since it has no file FORMAT/);
  }
  t.deepEqual(await readdir(folder), ['notes']);
  t.deepEqual(await readdir(join(folder, 'notes')), ['a.txt']);
  const host = new EdgeHost({ storage: join(folder, 'open') });
  t.teardown(() => host.close());
  await host.bucket('files').put('key', 'x');
  t.regex((await edgehost(t, ['repair', 'open'], { cwd: folder })).err, /another host has the storage directory open/);
  t.regex((await edgehost(t, ['repair'], { cwd: folder })).err, /A path is needed: DIR/);
});

test('repairStorage() refuses arguments that are none', async t => {
  // @ts-expect-error a directory is a string
  await t.throwsAsync(repairStorage(5), { instanceOf: TypeError, message: /is the number 5, expected the path/ });
  await t.throwsAsync(repairStorage(':memory:'), { instanceOf: TypeError });
  // @ts-expect-error there is no such option
  await t.throwsAsync(repairStorage('x', { onProgress() {} }), { message: /has no option "onProgress"/ });
});
