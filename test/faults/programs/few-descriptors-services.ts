/**
 * An application with few descriptors, of which many accounts want processes at once; prints what became of them, and how many sockets are left when those
 * that run are gone. `node few-descriptors-services.js inline|process LIMIT`
 */
import { execFileSync } from 'node:child_process';
import { fstatSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';
import { EdgeHost } from '../../../src/index.js';
import { errorCode } from '../../../src/quotas/errors.js';

const [backend, limit] = process.argv.slice(2);
const FINE = 'export default { fetch() { return new Response("fine") } };';
const ACCOUNTS = 8;
const WAIT_MS = 200;

function sockets(): number {
  let count = 0;
  for (let fd = 0; fd < Number(limit); fd++) {
    try {
      if (fstatSync(fd).isSocket()) count++;
    } catch {
      // It is not open.
    }
  }
  return count;
}

const storage = mkdtempSync(join(tmpdir(), 'edgehost-'));
const host = new EdgeHost({
  storage,
  backend: backend === 'process' ? 'process' : 'inline',
  warmCells: 0,
  spareIsolates: 0,
});
await host.openStorage();
execFileSync('prlimit', ['--pid', String(process.pid), `--nofile=${limit}:`]);
const before = sockets();
const outcomes = await Promise.all(
  Array.from({ length: ACCOUNTS }, (_, at) =>
    host
      .account(`account-${at}`)
      .load(FINE)
      .then(
        () => 'loaded',
        (error: unknown) => errorCode(error) ?? String(error),
      ),
  ),
);
// At once, and long before connections that nobody took would be dropped.
await delay(WAIT_MS);
const perCell = host.health().cells.length === 0 ? 0 : (sockets() - before) / host.health().cells.length;
for (const { id } of host.accounts()) if (host.account(id).functions().length > 0) await host.removeAccount(id);
for (let round = 0; sockets() > before + 2 && round < 10; round++) await delay(WAIT_MS);
const left = sockets() - before;
const later = await (await (await host.account('later').load(FINE)).fetch('http://x/')).text();
await host.close();
rmSync(storage, { recursive: true, force: true });
process.stdout.write(JSON.stringify({ outcomes, perCell, left, later }));
