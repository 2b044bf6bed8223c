/** Claims one minute after the other of a trigger in the storage of its argument, and prints each that it was given, until it is killed. */
import process from 'node:process';
import { StoredCronClaims } from '../../../../src/bindings/cron/cron-claims.js';
import { cronStorage } from '../../../../src/bindings/cron/cron-records.js';
import { Storage } from '../../../../src/storage/storage.js';

const [directory = '', first = '0'] = process.argv.slice(2);
let nowMs = Number(first) * 60_000;
const now = (): number => nowMs;
const storage = await Storage.open(directory, { owners: [cronStorage(now)], now });
const claims = new StoredCronClaims(storage.context, now);
const target = { account: 'acme', function: 'f' };
await claims.track(target, ['* * * * *'], nowMs);
for (let minute = Number(first); ; minute++) {
  nowMs = minute * 60_000;
  const wish = { ...target, cron: '* * * * *', dueMs: nowMs, isExclusive: false, isMissed: false };
  const [claim] = await claims.claim('process', [wish]);
  process.stdout.write(`${minute} ${claim?.kind}\n`);
}
