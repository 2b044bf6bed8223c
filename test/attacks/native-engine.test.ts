/** What native code that has taken over an engine of SQL can do: the program that attacks cells, behind the walls of engines. */
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { ENGINE_RULES } from '../../src/pool/sandbox/engine-rules.js';
import { EngineWalls } from '../../src/pool/sandbox/engine-walls.js';
import { type Sandbox, sandboxFor } from '../../src/pool/sandbox/sandbox.js';
import { newHost } from '../host/new-host.js';
import { onLinux, unlessMissing } from '../needs.js';
import { compileIntruder, startIntruder, startNeighbour, successes } from './native/intrude.js';

const isLinux = process.platform === 'linux';
const intruder = isLinux ? compileIntruder() : undefined;
const noIntruder = intruder === undefined ? 'no C compiler on Linux (cc, and the headers of libc6-dev)' : undefined;
const native = unlessMissing(noIntruder);
const isRoot = process.geteuid?.() === 0;

test.after.always(() => intruder?.remove());

native(
  'native code in an engine of SQL reaches the files of its folder, and no other file, process or network',
  async t => {
    const sandbox = await sandboxFor('auto', ENGINE_RULES);
    const { root, namespaces, seccomp } = sandbox.state;
    if (!root || !namespaces || !seccomp) {
      t.log(`unavailable here: ${sandbox.state.missing.join('; ')}`);
      t.pass();
      return;
    }
    const storage = mkdtempSync(join(tmpdir(), 'edgehost-engine-'));
    t.teardown(() => rmSync(storage, { recursive: true, force: true }));
    const [own = '', other = ''] = ['own', 'other'].map(name => join(storage, name));
    for (const folder of [own, other]) {
      mkdirSync(folder, { mode: 0o777 });
      writeFileSync(join(folder, 'a.sqlite'), 'rows');
      // Open to everybody: it is the wall that is tried out, and not who owns what.
      chmodSync(folder, 0o777);
      chmodSync(join(folder, 'a.sqlite'), 0o666);
    }
    const walls = new EngineWalls('auto', () => {});
    await walls.prepare();
    const inFolder: Sandbox = { ...sandbox, command: start => sandbox.command({ ...start, folder: own }) };
    const path = intruder?.path ?? '';
    // A process of the same user is what its own account has beside it.
    const neighbour = await startNeighbour(t, inFolder, path);
    const files = [
      '/etc/passwd',
      '/etc/hostname',
      '/proc/1/environ',
      `/proc/${process.pid}/environ`,
      '/dev/mem',
      '/bin/sh',
    ];
    const words = [
      ...[...files, join(other, 'a.sqlite')].map(file => `read=${file}`),
      ...[
        join(other, 'a.sqlite'),
        process.execPath,
        '/proc/sys/kernel/core_pattern',
        fileURLToPath(import.meta.url),
      ].map(file => `write=${file}`),
      ...['/', '/tmp', '/dev', storage, other].map(folder => `folder=${folder}`),
      ...['unix=/run/nothing.sock', `host=${process.pid}`, `other=${neighbour}`],
      ...[`folder=${own}`, `read=${join(own, 'a.sqlite')}`, `write=${join(own, 'a.sqlite')}`],
    ];
    const done = successes(await startIntruder(inFolder, path, words).finished);
    const expected = [
      ...['inherited socket', 'echo', 'thread', 'memory', 'list the root', 'files to write'],
      ...[`create in ${own}`, `fill ${own}`],
      ...[`read ${join(own, 'a.sqlite')}`, `write ${join(own, 'a.sqlite')}`],
    ];
    t.deepEqual(
      done.filter(name => !expected.includes(name)),
      [],
    );
    for (const name of [`create in ${own}`, `read ${join(own, 'a.sqlite')}`]) t.true(done.includes(name), name);
    t.is(readFileSync(join(other, 'a.sqlite'), 'utf8'), 'rows');
  },
);

onLinux(
  'engines of SQL have the sandbox of cells: one account each, with a user for its folder while it has any',
  async t => {
    const storage = mkdtempSync(join(tmpdir(), 'edgehost-engine-'));
    t.teardown(() => rmSync(storage, { recursive: true, force: true }));
    const host = newHost(t, { storage, backend: 'inline' });
    t.is(host.health().sqlSandbox, undefined);
    for (const account of ['a', 'b']) {
      const db = host.account(account).sql('main');
      await db.exec('CREATE TABLE t (v)');
      await db.prepare('INSERT INTO t VALUES (?)').bind('of one account').run();
      const copy = await new Response(await db.backup()).arrayBuffer();
      await db.restore(new Uint8Array(copy));
      const text = await new Response(await db.export()).text();
      await host.account(account).sql('copy').import(text);
      t.is(await db.prepare('SELECT v FROM t').first('v'), 'of one account');
    }
    const state = host.health().sqlSandbox;
    t.is(state?.mode, 'auto');
    const users = await usersIn(join(storage, 'sql'));
    t.is(users.size, 2);
    const owners = [...users.values()];
    if (isRoot && state?.ownUser === true) {
      t.true(owners.every(owner => owner.length === 1 && owner[0] !== 0));
      t.not(owners[0]?.[0], owners[1]?.[0]);
    }
    await host.close();
    for (const owner of (await usersIn(join(storage, 'sql'))).values()) t.deepEqual(owner, [process.geteuid?.()]);
    const again = newHost(t, { storage, backend: 'inline', sandbox: 'off' });
    t.is(await again.account('a').sql('copy').prepare('SELECT v FROM t').first('v'), 'of one account');
    t.is(again.health().sqlSandbox?.mode, 'off');
  },
);

/** The owners of the folders of accounts and of what is in them. */
async function usersIn(folder: string): Promise<Map<string, number[]>> {
  const { readdir } = await import('node:fs/promises');
  const users = new Map<string, number[]>();
  for (const account of await readdir(folder)) {
    const files = await readdir(join(folder, account));
    const all = ['', ...files].map(file => statSync(join(folder, account, file)).uid);
    users.set(account, [...new Set(all)]);
  }
  return users;
}
