/** An application that runs out of descriptors while SQL wants processes; prints what became of each call, and what is left in the folder. */
import { closeSync, mkdtempSync, openSync, readdirSync, rmSync } from 'node:fs';
import { devNull, tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { objectPool } from '../../../src/bindings/objects/store/object-sql.js';
import { errorCode } from '../../../src/quotas/errors.js';
import type { SqliteSeat } from '../../../src/sqlite/pool/sqlite-pool.js';
import { SqliteProcess } from '../../../src/sqlite/pool/sqlite-process.js';
import { NO_WALLS } from '../../../src/storage/process-walls.js';

/** More than there are places. */
const CALLS = 10;
const owner = { account: 'a' };
const directory = mkdtempSync(join(tmpdir(), 'edgehost-'));
const pool = objectPool(directory);
const taken: number[] = [];
try {
  for (;;) taken.push(openSync(devNull, 'r'));
} catch {
  // There is no other one.
}
const objects: string[] = [];
for (let call = 0; call < CALLS; call++) {
  await taking().then(
    () => objects.push('taken'),
    (error: unknown) => objects.push(errorCode(error) ?? String(error)),
  );
}
let databases = 'started';
try {
  new SqliteProcess(NO_WALLS, { account: 'a', folder: directory });
} catch (error) {
  databases = errorCode(error) ?? String(error);
}
// What is to be told of processes that were not started has been told.
await new Promise(resolve => setImmediate(resolve));
for (const descriptor of taken) closeSync(descriptor);
const left = readdirSync(join(directory, 'objects-sql'));
const { seat, taken: engine } = await taking();
const head = await engine.request({ op: 'open', path: engine.newPath() }, [], answer => answer);
seat.leave();
await pool.close();
rmSync(directory, { recursive: true });
process.stdout.write(JSON.stringify({ objects, databases, left, later: 'isFailure' in Object(head) }));

async function taking(): Promise<{ readonly seat: SqliteSeat; readonly taken: SqliteProcess }> {
  const seat = await pool.enter(owner, { onTick() {}, onOverload() {} });
  try {
    return { seat, taken: seat.start('') };
  } catch (error) {
    seat.leave();
    throw error;
  }
}
