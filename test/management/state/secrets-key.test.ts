/** Secrets at rest: sealed without being asked, and never lost in silence. */
import { chmod, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { MemoryLevel } from 'memory-level';
import { EdgeHost, type HostManagement, type HostManagementOptions } from '../../../src/index.js';
import { commit } from '../../../src/management/state/records.js';
import { isPlain, SecretCipher } from '../../../src/management/state/secret-cipher.js';
import { openSecrets } from '../../../src/management/state/secrets-key.js';
import { Stores } from '../../../src/management/state/stores.js';
import { EdgeError, errorCode } from '../../../src/quotas/errors.js';
import { type KeyStore, keyFile, memoryKey } from '../../../src/storage/files/key-file.js';
import { openBytes } from '../../../src/storage/records/open-level.js';
import { SealedLevel } from '../../../src/storage/records/sealed-level.js';
import { temporaryDirectory } from '../../bindings/bucket/stores.js';
import { handler } from '../../host/new-host.js';
import { asStorage } from '../support/open-level.js';

const TOKEN = 'token-of-the-owner-with-every-permission';
const TEXT = 'correct-horse-battery-staple';
const SHOWS = handler('return new Response(env.KEY ?? "none")');

interface Opened {
  readonly host: EdgeHost;
  readonly api: HostManagement;
  readonly warnings: EdgeError[];
}

async function open(t: ExecutionContext, storage: string, options: HostManagementOptions = {}): Promise<Opened> {
  const host = new EdgeHost({ storage, isolation: 'thread', spareIsolates: 0 });
  t.teardown(() => host.close({ drainMs: 0 }));
  const warnings: EdgeError[] = [];
  host.on('warning', error => {
    if (error instanceof EdgeError) warnings.push(error);
  });
  host.account('acme');
  const api = host.management({
    tokens: [{ name: 'owner', token: TOKEN, account: '*', permissions: 'all' }],
    onError: () => {},
    ...options,
  });
  await api.openapi();
  return { host, api, warnings };
}

/** Uploads a function, with a secret or without. */
async function upload({ api }: Opened, name: string, secret?: string): Promise<number> {
  const form = new FormData();
  const bindings = secret === undefined ? [] : [{ type: 'secret_text', name: 'KEY', text: secret }];
  form.set('metadata', JSON.stringify({ main_module: 'index.js', bindings }));
  form.set('index.js', new File([SHOWS], 'index.js', { type: 'application/javascript+module' }));
  const headers = { authorization: `Bearer ${TOKEN}` };
  return (await api(new Request(`http://api/accounts/acme/functions/${name}`, { method: 'PUT', headers, body: form })))
    .status;
}

/** What the functions say after a restart, and what could not be restored. */
async function restored({ host, api }: Opened): Promise<Record<string, string>> {
  const { failed } = await api.restore();
  const found: Record<string, string> = {};
  for (const { name, error } of failed) found[name] = String(errorCode(error));
  for (const fn of host.account('acme').functions()) found[fn.name] = await (await fn.fetch('http://x/')).text();
  return found;
}

async function contains(directory: string, text: string): Promise<string[]> {
  const found = [];
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    if ((await readFile(path)).includes(text)) found.push(path);
  }
  return found;
}

/** A storage with one function that has a secret and one that has none. */
async function written(t: ExecutionContext, options: HostManagementOptions = {}): Promise<string> {
  const directory = await temporaryDirectory(t);
  const first = await open(t, directory, options);
  t.is(await upload(first, 'with', TEXT), 200);
  t.is(await upload(first, 'without'), 200);
  await first.host.close();
  return directory;
}

/** The same as a release left it that sealed nothing of its own accord. */
async function writtenPlain(t: ExecutionContext, count = 1): Promise<string> {
  const directory = await written(t);
  await rm(join(directory, 'secrets.key'));
  const level = new SealedLevel(() => openBytes(join(directory, 'management'), directory), 'management');
  const stores = new Stores(asStorage(level));
  const time = new Date().toISOString();
  const secret = (name: string) =>
    stores.secrets.put(['acme', 'with', name], { name, sealed: `plain:${TEXT}`, modified_on: time }).operation;
  const names = ['KEY', ...Array.from({ length: count - 1 }, (_, at) => `KEY_${at}`)];
  await commit(stores.storage, [...names.map(secret), stores.settings.del('secrets-key')]);
  await level.close();
  t.not((await contains(directory, TEXT)).length, 0);
  return directory;
}

test('secrets are sealed with a key of the storage, which the database does not have', async t => {
  const directory = await written(t);
  t.deepEqual(await contains(directory, TEXT), []);
  const path = join(directory, 'secrets.key');
  const key = (await readFile(path, 'utf8')).trim();
  t.regex(key, /^[0-9a-f]{64}$/);
  if (process.platform !== 'win32') t.is((await stat(path)).mode & 0o777, 0o600);
  t.deepEqual(await contains(directory, key), [path]);
  t.deepEqual(await contains(directory, Buffer.from(key, 'hex').toString('latin1')), []);
  const second = await open(t, directory);
  t.deepEqual(await restored(second), { with: TEXT, without: 'none' });
  t.deepEqual(second.warnings, []);
});

test('two storages have two keys', async t => {
  const keys = await Promise.all(
    [written(t), written(t)].map(async directory => readFile(join(await directory, 'secrets.key'), 'utf8')),
  );
  t.not(keys[0], keys[1]);
});

test('secrets that were stored as they are open, are sealed by opening, and leave nothing in the files', async t => {
  const directory = await writtenPlain(t, 100);
  const second = await open(t, directory);
  t.deepEqual(await restored(second), { with: TEXT, without: 'none' });
  await second.host.close();
  t.deepEqual(await contains(directory, TEXT), []);
  const third = await open(t, directory);
  t.deepEqual(await restored(third), { with: TEXT, without: 'none' });
  t.deepEqual(third.warnings, []);
});

const OTHER = `${'ab'.repeat(32)}\n`;
for (const [what, damage, text] of [
  ['missing', (path: string) => rm(path), /is missing; bring it back/],
  ['another one', (path: string) => writeFile(path, OTHER), /holds another key/],
  ['damaged', (path: string) => writeFile(path, 'abc'), /is damaged; bring it back/],
  ['empty', (path: string) => writeFile(path, ''), /is damaged; bring it back/],
] as const) {
  test(`a key that is ${what} is told by its file, and nothing is changed or lost`, async t => {
    const directory = await written(t);
    const path = join(directory, 'secrets.key');
    const key = await readFile(path);
    await damage(path);
    const before = await readFile(path, 'utf8').catch(() => undefined);
    const second = await open(t, directory);
    t.deepEqual(await restored(second), { with: 'EDGE_SECRETS_KEY', without: 'none' });
    t.is(second.warnings.length, 1);
    t.like(second.warnings[0], { code: 'EDGE_SECRETS_KEY', message: second.warnings[0]?.message });
    t.regex(second.warnings[0]?.message ?? '', text);
    t.true(second.warnings[0]?.message.includes(path));
    t.is(await upload(second, 'new', 'secret'), 500);
    t.is(await upload(second, 'without'), 200);
    await second.host.close();
    t.is(await readFile(path, 'utf8').catch(() => undefined), before);
    await writeFile(path, key, { mode: 0o644 });
    await chmod(path, 0o644);
    const third = await open(t, directory);
    t.deepEqual(await restored(third), { with: TEXT, without: 'none' });
    if (process.platform !== 'win32') t.is((await stat(path)).mode & 0o777, 0o600);
  });
}

test('a damaged file that nothing is sealed with is replaced', async t => {
  const directory = await temporaryDirectory(t);
  await (await open(t, directory)).host.close();
  await writeFile(join(directory, 'secrets.key'), 'ab');
  const second = await open(t, directory);
  t.is(await upload(second, 'with', TEXT), 200);
  await second.host.close();
  t.deepEqual(await restored(await open(t, directory)), { with: TEXT });
});

const GIVEN = new Uint8Array(32).fill(7);

test('with a key of the owner there is no file, and another key is told', async t => {
  const directory = await written(t, { secretsKey: GIVEN });
  t.false((await readdir(directory)).includes('secrets.key'));
  t.deepEqual(await contains(directory, TEXT), []);
  const other = await open(t, directory, { secretsKey: new Uint8Array(32).fill(8) });
  t.deepEqual(await restored(other), { with: 'EDGE_SECRETS_KEY', without: 'none' });
  t.regex(other.warnings[0]?.message ?? '', /secretsKey is not the key/);
  await other.host.close();
  const none = await open(t, directory);
  t.deepEqual(await restored(none), { with: 'EDGE_SECRETS_KEY', without: 'none' });
  t.regex(none.warnings[0]?.message ?? '', /secretsKey, which is not given/);
  await none.host.close();
  t.false((await readdir(directory)).includes('secrets.key'));
  t.deepEqual(await restored(await open(t, directory, { secretsKey: GIVEN })), { with: TEXT, without: 'none' });
});

test('a key that the owner gives later takes over from the file, which can go then', async t => {
  const directory = await written(t);
  const second = await open(t, directory, { secretsKey: GIVEN });
  t.deepEqual(await restored(second), { with: TEXT, without: 'none' });
  await second.host.close();
  await rm(join(directory, 'secrets.key'));
  const third = await open(t, directory, { secretsKey: GIVEN });
  t.deepEqual(await restored(third), { with: TEXT, without: 'none' });
  t.deepEqual(third.warnings, []);
});

test('a storage in memory keeps its key in memory, one for all its management APIs', async t => {
  const first = await open(t, ':memory:');
  t.is(await upload(first, 'with', TEXT), 200);
  const again = first.host.management();
  t.deepEqual(await restored({ ...first, api: again }), { with: TEXT });
});

test('two management APIs that open at once have one key', async t => {
  const directory = await temporaryDirectory(t);
  const host = new EdgeHost({ storage: directory, isolation: 'thread', spareIsolates: 0 });
  t.teardown(() => host.close({ drainMs: 0 }));
  host.account('acme');
  const tokens = [{ name: 'owner', token: TOKEN, account: '*', permissions: 'all' }] as const;
  const [one, two] = [host.management({ tokens }), host.management({ tokens })];
  t.is(await upload({ host, api: one, warnings: [] }, 'with', TEXT), 200);
  t.deepEqual(await restored({ host, api: two, warnings: [] }), { with: TEXT });
});

// --- Killed at any point ---

/** A store whose writes fail from a certain one on, as those of a process that is killed never come. */
function dying(storage: MemoryLevel<string, string>, writes: { left: number }): MemoryLevel<string, string> {
  return new Proxy(storage, {
    get(target, name) {
      if (name === 'batch') {
        return (...args: Parameters<typeof target.batch>) => {
          if (writes.left-- <= 0) throw new Error('killed');
          return target.batch(...args);
        };
      }
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

async function openAll(storage: object, keyStore: KeyStore, given?: Uint8Array): Promise<SecretCipher> {
  const cipher = new SecretCipher(new EdgeError('EDGE_SECRETS_KEY', 'not opened'));
  const stores = new Stores(asStorage(storage));
  await openSecrets({ stores, cipher, given, keyStore, onWarning: () => {} });
  return cipher;
}

test('sealing that is killed after any of its writes is finished by the next opening', async t => {
  for (let after = 0; ; after++) {
    const level = new MemoryLevel<string, string>();
    const stores = new Stores(asStorage(level));
    for (let at = 0; at < 250; at++) {
      const record = { name: `S${at}`, sealed: `plain:${TEXT}${at}`, modified_on: 'x' };
      await commit(stores.storage, [stores.secrets.put(['acme', 'f', record.name], record).operation]);
    }
    const keyStore = memoryKey();
    const writes = { left: after };
    const isDone = await openAll(dying(level, writes), keyStore).then(
      () => true,
      () => false,
    );
    const cipher = await openAll(level, keyStore);
    let count = 0;
    for await (const [place, { name, sealed }] of stores.secrets.entries()) {
      t.false(isPlain(sealed));
      t.is(cipher.open(sealed, place), TEXT + name.slice(1));
      count++;
    }
    t.is(count, 250);
    // A key that the owner gives takes over in the same way.
    const given = new Uint8Array(32).fill(9);
    writes.left = after;
    await openAll(dying(level, writes), keyStore, given).catch(() => {});
    const again = await openAll(level, keyStore, given);
    for await (const [place, { name, sealed }] of stores.secrets.entries())
      t.is(again.open(sealed, place), TEXT + name.slice(1));
    if (!isDone) continue;
    t.true(after > 3, `it took ${after} writes`);
    return;
  }
});

test('keyFile() creates a key once and never replaces it', async t => {
  const path = join(await temporaryDirectory(t), 'key');
  const store = keyFile(path);
  t.is(await store.read(), 'missing');
  const key = await store.create();
  t.deepEqual(await store.read(), key);
  await t.throwsAsync(store.create(), { code: 'EDGE_STORAGE_PATH' });
  t.deepEqual(await store.read(), key);
});
