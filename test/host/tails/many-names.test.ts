/** An account whose functions have named ever other tail functions. */
import test from 'ava';
import { AccountTails } from '../../../src/host/tails/account-tails.js';
import { HostOpens } from '../../../src/protocol/messages.js';
import { wideShare } from '../wide-share.js';

test('tail functions that nothing waits for are forgotten', async t => {
  const warned: Error[] = [];
  const tails = new AccountTails('acme', wideShare(), error => warned.push(error));
  t.teardown(() => tails.close());
  for (let number = 0; number < 1000; number++) {
    tails.of([`watcher-${number}`]).finished({
      context: { function: 'main', version: '1' },
      id: `${number}`,
      kind: 'scheduled',
      start: { kind: HostOpens.Scheduled, head: '0\n* * * * *' },
      outcome: 'ok',
      status: undefined,
      cpuMs: 0,
      wallMs: 0,
      error: undefined,
      thrown: undefined,
      recorded: () => ({ logs: [], exceptions: [], isTruncated: false, hasHead: true }),
    });
    await new Promise(resolve => setImmediate(resolve));
  }
  t.true(tails.knownFunctions <= 101, `${tails.knownFunctions} are known`);
  // Each said once that it is not loaded.
  t.is(warned.length, 1000);
});
