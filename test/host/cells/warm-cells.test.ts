/** Cells that belong to nobody yet, through the public API, and what one could know before it is given. */
import { closeSync, openSync, readdirSync, readFileSync, readlinkSync, readSync } from 'node:fs';
import process from 'node:process';
import test, { type ExecutionContext } from 'ava';
import type { EdgeHost } from '../../../src/index.js';
import { unlessMissing } from '../../needs.js';
import { handler, newHost, textOf } from '../new-host.js';

const FINE = handler('return new Response("fine")');

const asRoot = unlessMissing(process.geteuid?.() === 0 ? undefined : 'not root');

async function warmPid(host: EdgeHost): Promise<number> {
  for (;;) {
    const [cell] = host.health().warmCells;
    // Its isolate is the last thing that is started.
    if (cell?.pid !== undefined && cell.isolates === 1) return cell.pid;
    await new Promise(resolve => setImmediate(resolve));
  }
}

function pidOf(host: EdgeHost, account: string): number | undefined {
  return host.health().cells.find(cell => cell.account === account)?.pid;
}

async function hostWithWarmCell(t: ExecutionContext): Promise<EdgeHost> {
  const host = newHost(t, { warmCells: 1 });
  await host.account('tenant-one').load(FINE, { secrets: { TOKEN: 'a-secret-of-tenant-one' } });
  host.account('tenant-two');
  return host;
}

test("a new account's first isolate takes the warm cell, and the next is started behind it", async t => {
  const host = await hostWithWarmCell(t);
  const pid = await warmPid(host);
  t.deepEqual(
    host.health().cells.map(({ account }) => account),
    ['tenant-one'],
  );
  const fn = await host.account('tenant-two').load(FINE);
  t.is(pidOf(host, 'tenant-two'), pid);
  t.is(await textOf(fn.fetch('http://x/')), 'fine');
  t.not(await warmPid(host), pid);
});

test('a cell has one account in its life: none is a warm one again, and none has two', async t => {
  const host = await hostWithWarmCell(t);
  const pids = [pidOf(host, 'tenant-one')];
  for (const account of ['tenant-two', 'tenant-three']) {
    const pid = await warmPid(host);
    t.false(pids.includes(pid));
    await host.account(account).load(FINE);
    t.is(pidOf(host, account), pid);
    pids.push(pid);
  }
  t.is(new Set(host.health().cells.map(({ pid }) => pid)).size, 3);
});

test('a warm cell that is killed at the moment in which it is taken costs no request', async t => {
  const host = await hostWithWarmCell(t);
  process.kill(await warmPid(host), 'SIGKILL');
  const fn = await host.account('tenant-two').load(FINE);
  t.is(await textOf(fn.fetch('http://x/')), 'fine');
});

test('a warm cell that is killed is told of and replaced, and a load meanwhile starts a cell of its own', async t => {
  const host = await hostWithWarmCell(t);
  const pid = await warmPid(host);
  const warned = new Promise<Error>(resolve => host.once('warning', resolve));
  process.kill(pid, 'SIGKILL');
  t.like(await warned, { code: 'EDGE_CELL_START' });
  const fn = await host.account('tenant-two').load(FINE);
  t.is(await textOf(fn.fetch('http://x/')), 'fine');
  t.not(await warmPid(host), pid);
});

test('a host that closes ends its warm cell', async t => {
  const host = await hostWithWarmCell(t);
  const pid = await warmPid(host);
  await host.close();
  t.throws(() => process.kill(pid, 0), { code: 'ESRCH' });
  t.deepEqual(host.health().warmCells, []);
});

test('no process is started for an account that has loaded nothing, and none with warmCells: 0', async t => {
  const host = newHost(t, { warmCells: 0 });
  await host.account('tenant-one').load(FINE);
  t.deepEqual(host.health().warmCells, []);
  const idle = newHost(t, { warmCells: 1 });
  idle.account('tenant-one');
  t.deepEqual([...idle.health().cells, ...idle.health().warmCells], []);
});

test('with isolation thread there are no warm cells, and no budget of their memory', async t => {
  const host = newHost(t, { isolation: 'thread' });
  await host.load(FINE);
  t.deepEqual(host.health().warmCells, []);
  t.is(host.health().memory, undefined);
  const message = /with isolation 'thread' there are no processes/;
  t.throws(() => newHost(t, { isolation: 'thread', warmCells: 2 }), { instanceOf: RangeError, message });
  t.throws(() => newHost(t, { isolation: 'thread', memoryBytes: 1e9 }), { instanceOf: RangeError, message });
});

asRoot(
  'an attacker who reads a warm cell learns of no account: command line, environment, descriptors, memory',
  async t => {
    const host = await hostWithWarmCell(t);
    const pid = await warmPid(host);
    const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
    t.notRegex(command, /tenant/);
    t.notRegex(readFileSync(`/proc/${pid}/environ`, 'utf8'), /tenant/);
    for (const fd of readdirSync(`/proc/${pid}/fd`)) t.notRegex(readlinkSync(`/proc/${pid}/fd/${fd}`), /tenant/);
    t.notRegex(readFileSync(`/proc/${pid}/cgroup`, 'utf8'), /tenant/);
    t.false(memoryHas(pid, 'tenant-'));
    // The search finds what is there.
    await host.account('tenant-two').load(FINE, { secrets: { TOKEN: 'a-secret-of-tenant-two' } });
    t.is(pidOf(host, 'tenant-two'), pid);
    t.true(memoryHas(pid, 'a-secret-of-tenant-two'));
    t.false(memoryHas(pid, 'a-secret-of-tenant-one'));
  },
);

/** Whether a text is in the writable memory of a process, in one byte or two a character. */
function memoryHas(pid: number, text: string): boolean {
  const needles = [Buffer.from(text, 'latin1'), Buffer.from(text, 'utf16le')];
  const chunk = Buffer.alloc(4 * 1024 * 1024);
  const memory = openSync(`/proc/${pid}/mem`, 'r');
  try {
    for (const line of readFileSync(`/proc/${pid}/maps`, 'latin1').split('\n')) {
      const [, from, to] = /^([0-9a-f]+)-([0-9a-f]+) rw/.exec(line) ?? [];
      if (from === undefined || to === undefined) continue;
      let at = BigInt(`0x${from}`);
      const end = BigInt(`0x${to}`);
      while (at < end) {
        const size = Number(end - at < BigInt(chunk.length) ? end - at : BigInt(chunk.length));
        let read = 0;
        try {
          read = readSync(memory, chunk, 0, size, at);
        } catch {
          // Reserved, and never written.
        }
        const found = chunk.subarray(0, read);
        if (needles.some(needle => found.includes(needle))) return true;
        at += BigInt(Math.max(read, 4096));
      }
    }
    return false;
  } finally {
    closeSync(memory);
  }
}
