/** An application that runs out of descriptors while accounts want processes; prints what became of each, and of those that ran. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import process from 'node:process';
import { type EdgeFunction, EdgeHost } from '../../../src/index.js';
import { errorCode } from '../../../src/quotas/errors.js';

const FINE = 'export default { fetch() { return new Response("fine") } };';
const host = new EdgeHost({ storage: ':memory:' });
const running: EdgeFunction[] = [await host.account('first').load(FINE)];
// Started while there are descriptors for its pipe.
const raise = spawn('sh', ['-c', `read _; exec prlimit --pid ${process.pid} --nofile=1024:`], {
  stdio: ['pipe', 'ignore', 'ignore'],
});
execFileSync('prlimit', ['--pid', String(process.pid), `--nofile=${process.argv[2]}:`]);
const outcomes: string[] = [];
for (let at = 0; at < 4; at++) {
  await host
    .account(`account-${at}`)
    .load(FINE)
    .then(
      fn => {
        running.push(fn);
        outcomes.push('loaded');
      },
      (error: unknown) => outcomes.push(errorCode(error) ?? String(error)),
    );
}
const answers = await Promise.all(running.map(async fn => (await fn.fetch('http://x/')).text()));
raise.stdin.end('\n');
await once(raise, 'exit');
const later = await (await (await host.account('account-3').load(FINE)).fetch('http://x/')).text();
process.stdout.write(JSON.stringify({ outcomes, answers, later }));
await host.close();
