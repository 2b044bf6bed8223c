/** An application whose accounts are all busy, more of them than the system has room for: prints how the last of them are refused, and what goes on after. */
import process from 'node:process';
import { EdgeHost } from '../../../src/index.js';
import { EdgeError } from '../../../src/quotas/errors.js';
import { limitDescriptors } from './limit-descriptors.js';

const ACCOUNTS = 40;
const WAITS = `
export default {
  async fetch(request) {
    if (request.url.endsWith('/wait')) { console.log('waiting'); await scheduler.wait(600_000); }
    return new Response('fine');
  },
};`;

limitDescriptors();
const host = new EdgeHost({ storage: ':memory:' });
host.on('warning', () => {});
const waits = new AbortController();
const refusals: unknown[] = [];
let busy = 0;
for (let at = 0; at < ACCOUNTS && refusals.length < 2; at++) {
  try {
    const fn = await host.account(`account-${at}`).load(WAITS);
    const isWaiting = new Promise(resolve => host.once('log', resolve));
    fn.fetch('http://x/wait', { signal: waits.signal }).catch(() => {});
    await isWaiting;
    busy++;
  } catch (error) {
    if (!(error instanceof EdgeError)) throw error;
    refusals.push({ code: error.code, status: error.status, message: error.message });
  }
}
waits.abort();
const later = await (await (await host.account('later').load(WAITS)).fetch('http://x/')).text();
process.stdout.write(JSON.stringify({ busy, refusals, later }));
await host.close({ drainMs: 0 });
