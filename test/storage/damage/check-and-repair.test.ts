/** `edgehost repair --check` finds every kind of damage, and a repair leaves what is whole. */
import { createHash } from 'node:crypto';
import { cp, mkdtemp, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { EdgeHost, repairStorage } from '../../../src/index.js';
import { errorCode } from '../../../src/quotas/errors.js';
import { loadSqlite } from '../../../src/sqlite/engine/sqlite.js';
import { temporaryDirectory } from '../../bindings/bucket/stores.js';
import { edgehost } from '../../cli/program.js';
import { contentOf, filesBelow, fill, flip, NAMES, readAll } from './damage.js';

let whole = '';

test.before(async () => {
  whole = await mkdtemp(join(tmpdir(), 'edgehost-test-'));
  await fill(whole);
});

test.after.always(() => rm(whole, { recursive: true, force: true }));

async function storageCopy(t: ExecutionContext): Promise<string> {
  const copy = join(await temporaryDirectory(t), 'data');
  await cp(whole, copy, { recursive: true });
  return copy;
}

async function tableWith(directory: string, needle: Buffer): Promise<string> {
  for (const file of await filesBelow(directory, /\.(?:ldb|log)$/)) {
    if ((await readFile(file)).includes(needle)) return file;
  }
  throw new Error('No table has these bytes');
}

/** Of all files but the log of LevelDB's own doings. */
async function sums(directory: string): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const file of await filesBelow(directory, /^(?!LOG)/)) {
    found[file] = createHash('md5')
      .update(await readFile(file))
      .digest('hex');
  }
  return found;
}

test.serial('edgehost repair --check reads a whole storage, says so, changes nothing, and ends with 0', async t => {
  const directory = await storageCopy(t);
  const before = await sums(directory);
  const { code, out } = await edgehost(t, ['repair', directory, '--check']);
  t.is(code, 0, out);
  t.regex(out, /^read \d+ records and 5 bodies: nothing is damaged\n$/);
  t.deepEqual(await sums(directory), before);
});

test.serial('edgehost repair --check names each damaged record, body, database and key, and ends with 1', async t => {
  const directory = await storageCopy(t);
  const value = contentOf('kv/2048');
  t.true(await flip(await tableWith(directory, value.subarray(0, 40)), value.subarray(0, 40)));
  const bodies = await filesBelow(join(directory, 'bodies'), /^\d+$/);
  t.is(bodies.length, 5);
  await flip(bodies[0] ?? '', 1000);
  await truncate(bodies[1] ?? '', 10);
  await rm(bodies[2] ?? '');
  await writeFile(join(directory, 'management', 'CURRENT'), 'MANIFEST-999999\n');
  await writeFile(join(directory, 'secrets.key'), 'garbage');
  const before = await sums(directory);
  const { code, out } = await edgehost(t, ['repair', directory, '--check', '--json']);
  t.is(code, 1);
  const { damaged } = JSON.parse(out);
  t.deepEqual(
    damaged.map(({ kind, path }: { kind: string; path: string }) => [kind, path.replace(/\/.*/, '')]),
    [
      ['key', 'secrets.key'],
      ['record', 'level'],
      ['body', 'bodies'],
      ['body', 'bodies'],
      ['body', 'bodies'],
      ['database', 'management'],
    ],
  );
  t.regex(damaged[1].keys[0], /kv\/2048$/);
  for (const body of damaged.slice(2, 5)) t.regex(body.keys[0], /(?:files|kv)\/(?:65537|300000|parts)$/);
  t.regex(out, /has 10 bytes, its record says/);
  t.regex(out, /is missing/);
  t.deepEqual(await sums(directory), before);
  const text = await edgehost(t, ['repair', directory, '--check']);
  t.regex(text.out, /damaged record level \(".*kv\/2048"\): its checksum does not match\n/);
  t.is((await edgehost(t, ['repair', directory, '--check', '--copy', 'x'])).code, 2);
});

test.serial('a check names the SQL database of which an index or the head is damaged, and no other', async t => {
  const directory = await storageCopy(t);
  const host = new EdgeHost({ storage: directory });
  for (const account of ['index', 'head', 'whole']) {
    const db = host.account(account).sql('main');
    await db.exec('CREATE TABLE t (v TEXT); CREATE INDEX i ON t (v)');
    await db.prepare("INSERT INTO t VALUES ('a value that an index repeats')").run();
  }
  await host.close();
  t.deepEqual((await repairStorage(directory, { check: true })).damaged, []);
  const folder = (account: string): string => createHash('sha256').update(account).digest('hex').slice(0, 32);
  const [file = '', head = ''] = await Promise.all(
    ['index', 'head'].map(async account => (await filesBelow(join(directory, 'sql', folder(account)), /\.sqlite$/))[0]),
  );
  // What the log of a database holds is to be in its file.
  const { DatabaseSync } = await loadSqlite();
  for (const path of [file, head]) {
    const database = new DatabaseSync(path, {});
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    database.close();
  }
  const bytes = await readFile(file);
  const needle = Buffer.from('a value that an index repeats');
  t.true(bytes.includes(needle));
  bytes.write('b', bytes.lastIndexOf(needle));
  await writeFile(file, bytes);
  await flip(head, 0);
  const { damaged } = await repairStorage(directory, { check: true });
  t.deepEqual(
    damaged.map(({ kind, path, message }) => [kind, path, message]),
    [
      ['database', file.slice(directory.length + 1), 'row 1 missing from index i'],
      ['database', head.slice(directory.length + 1), 'file is not a database'],
    ].sort(([, one = ''], [, other = '']) => one.localeCompare(other)),
  );
});

test.serial('a repair moves damaged records away, and everything else is there and can be written', async t => {
  const directory = await storageCopy(t);
  const value = contentOf('files/2048');
  await flip(await tableWith(directory, value.subarray(0, 40)), value.subarray(0, 40));
  const { databases } = await repairStorage(directory);
  const lost = databases.find(({ name }) => name === 'level')?.lostRecords ?? [];
  t.is(lost.length, 1);
  t.regex(lost[0] ?? '', /files\/2048$/);
  t.true((await readFile(join(directory, 'level', 'lost', 'records.jsonl'), 'utf8')).includes('files/2048'));
  const read = await readAll(directory);
  t.deepEqual([read.wrong, read.missing, [...read.errors.keys()]], [[], ['files/2048'], []]);
  const host = new EdgeHost({ storage: directory });
  t.teardown(() => host.close());
  await host.account('acme').bucket('files').put('files/2048', 'again');
  t.is((await repairedCheck(directory, host)).length, 0);
});

async function repairedCheck(directory: string, host: EdgeHost): Promise<readonly unknown[]> {
  await host.close();
  return (await repairStorage(directory, { check: true })).damaged;
}

for (const [title, damage] of [
  ['CURRENT has another name in it', (level: string) => flip(join(level, 'CURRENT'), 10)],
  ['CURRENT is missing', (level: string) => rm(join(level, 'CURRENT'))],
  [
    'MANIFEST is missing',
    async (level: string) => {
      for (const file of await readdir(level)) if (file.startsWith('MANIFEST')) await rm(join(level, file));
    },
  ],
] as const) {
  test.serial(
    `a storage of which ${title} is EDGE_STORAGE_CORRUPT with the name of the database, and a repair saves all`,
    async t => {
      const directory = await storageCopy(t);
      await damage(join(directory, 'level'));
      const error = await t.throwsAsync(readAll(directory), { code: 'EDGE_STORAGE_CORRUPT' });
      t.regex(error.message, /database "level".*edgehost repair DIR/);
      await repairStorage(directory);
      t.deepEqual((await readAll(directory)).right, NAMES);
    },
  );

  test.serial(`a management database of which ${title} is an error by name, and not the end of the host`, async t => {
    const directory = await storageCopy(t);
    await damage(join(directory, 'management'));
    const host = new EdgeHost({ storage: directory });
    t.teardown(() => host.close());
    const issued = host.management().issueToken({ name: 'x', account: 'acme', permissions: [] });
    const error = await t.throwsAsync(issued);
    t.is(errorCode(error), 'EDGE_STORAGE_CORRUPT', String(error));
    t.regex(error?.message ?? '', /database "management".*edgehost repair DIR/);
    t.deepEqual((await host.account('acme').bucket('files').head('files/100'))?.size, 100);
    await host.close();
    await repairStorage(directory);
    const again = new EdgeHost({ storage: directory });
    t.teardown(() => again.close());
    await again.management().issueToken({ name: 'y', account: 'acme', permissions: [] });
  });
}

for (const [title, damage] of [
  ['garbled', (file: string) => writeFile(file, '{"form')],
  ['missing', (file: string) => rm(file)],
] as const) {
  test.serial(
    `a storage whose FORMAT is ${title} is refused by name, and a repair writes it again and keeps all`,
    async t => {
      const directory = await storageCopy(t);
      const before = await readFile(join(directory, 'FORMAT'), 'utf8');
      await damage(join(directory, 'FORMAT'));
      await t.throwsAsync(readAll(directory), { code: 'EDGE_STORAGE_FORMAT', message: /FORMAT.*edgehost repair DIR/ });
      await repairStorage(directory);
      t.is(await readFile(join(directory, 'FORMAT'), 'utf8'), before);
      t.deepEqual((await readAll(directory)).right, NAMES);
      t.true((await stat(join(directory, 'level'))).isDirectory());
    },
  );
}

test.serial('random damage never gives other bytes: what is read is right, an error, or said to be gone', async t => {
  let state = 29;
  const random = (below: number): number => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state % below;
  };
  let errors = 0;
  for (let run = 0; run < 12; run++) {
    const directory = await storageCopy(t);
    const files = await filesBelow(directory, /\.(?:ldb|log)$|^\d+$|^MANIFEST|^CURRENT$/);
    const file = files[random(files.length)] ?? '';
    const size = (await stat(file)).size;
    if (size === 0) continue;
    const place = random(size);
    if (run % 2 === 0) await flip(file, place, 1 << random(8));
    else {
      const bytes = await readFile(file);
      bytes.fill(0, place, Math.min(size, place + 4096));
      await writeFile(file, bytes);
    }
    const label = `run ${run}: ${file} at ${place}`;
    try {
      const read = await readAll(directory);
      t.deepEqual(read.wrong, [], label);
      errors += read.errors.size;
      for (const error of read.errors.values()) t.is(errorCode(error), 'EDGE_STORAGE_CORRUPT', `${label}: ${error}`);
    } catch (error) {
      errors++;
      t.is(errorCode(error), 'EDGE_STORAGE_CORRUPT', `${label}: ${error}`);
    }
  }
  t.true(errors > 0);
});
