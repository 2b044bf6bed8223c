/** What is watched, and what is not missed between reading a folder and watching it. */
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { type FolderChanges, FolderWatcher } from '../../src/cli/dev/folder-watcher.js';

function newFolder(t: ExecutionContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'edgehost-watch-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Watches the folder, and answers the first two reports: that of what `begin` does, and that of what `between` does while it is taken. */
function twoRounds(
  t: ExecutionContext,
  root: string,
  { begin, between }: { readonly begin: () => void; readonly between: (watcher: FolderWatcher) => void },
): Promise<FolderChanges[]> {
  const rounds: FolderChanges[] = [];
  return new Promise(resolve => {
    const watcher = new FolderWatcher({
      onChange: async changes => {
        rounds.push(changes);
        if (rounds.length > 1) resolve(rounds);
        else between(watcher);
      },
      onError: (_, error) => t.fail(error.message),
    });
    t.teardown(() => watcher.close());
    watcher.watch([root]);
    begin();
  });
}

test('a file that comes into a new folder before the folder is watched is reported', async t => {
  const root = newFolder(t);
  const inner = join(root, 'inner');
  const [first, second] = await twoRounds(t, root, {
    begin: () => mkdirSync(inner),
    between: watcher => {
      // Its files have been read by now.
      writeFileSync(join(inner, 'late.js'), '');
      watcher.watch([root, inner]);
    },
  });
  t.deepEqual([...(first?.keys() ?? [])], [inner]);
  t.deepEqual(
    [...(second?.entries() ?? [])],
    [
      [inner, { isRenamed: true }],
      [join(inner, 'late.js'), { isRenamed: false }],
    ],
  );
});

test('a file that is written before its folder is watched is reported', async t => {
  const root = newFolder(t);
  const inner = join(root, 'inner');
  mkdirSync(inner);
  writeFileSync(join(inner, 'old.js'), '');
  utimesSync(join(inner, 'old.js'), 1000, 1000);
  writeFileSync(join(inner, 'late.js'), '');
  utimesSync(inner, 1000, 1000);
  const [, second] = await twoRounds(t, root, {
    begin: () => writeFileSync(join(root, 'first.js'), ''),
    between: watcher => {
      writeFileSync(join(inner, 'late.js'), 'written in place');
      watcher.watch([root, inner]);
    },
  });
  t.deepEqual([...(second?.entries() ?? [])], [[join(inner, 'late.js'), { isRenamed: false }]]);
});

test('folders that are watched from the beginning report nothing by themselves', async t => {
  const root = newFolder(t);
  const reported = await new Promise<FolderChanges>(resolve => {
    const watcher = new FolderWatcher({
      onChange: async changes => resolve(changes),
      onError: (_, error) => t.fail(error.message),
    });
    t.teardown(() => watcher.close());
    watcher.watch([root]);
    writeFileSync(join(root, 'first.js'), '');
  });
  t.deepEqual([...reported.keys()], [join(root, 'first.js')]);
});
