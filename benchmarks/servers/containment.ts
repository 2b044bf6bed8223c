/**
 * A host on which one account sets off bombs and others work. Told the number of a bomb it answers `{ lost, served, code, isBack }`: what
 * the other accounts lost and had served meanwhile, how the bomb ended, and whether its function answers again.
 */
import process from 'node:process';
import { type EdgeFunction, EdgeHost } from '../../src/index.js';
import { errorCode } from '../../src/quotas/errors.js';
import { BOMBS } from '../bombs.js';

const host = new EdgeHost({ storage: ':memory:', limits: { cpuMs: 1000 } });
const GOOD = 'export default { fetch() { return new Response("fine") } };';
const neighbours = await Promise.all(['one', 'two'].map(name => host.account(name).load(GOOD)));
const bombs: EdgeFunction[] = [];
for (const [at, [, body]] of BOMBS.entries()) {
  bombs.push(
    await host
      .account('bomber')
      .load(
        `export default { async fetch(request) { if (request.url.endsWith('/bomb')) { ${body} } return new Response('fine'); } };`,
        { name: `bomb-${at}` },
      ),
  );
}

process.on('message', async (at: number) => {
  const bomb = bombs[at];
  if (bomb === undefined) return;
  let isOver = false;
  let lost = 0;
  let served = 0;
  const work = neighbours.map(async fn => {
    while (!isOver) {
      const isServed = await fn.fetch('http://x/').then(
        async response => (await response.text()) === 'fine',
        () => false,
      );
      if (isServed) served++;
      else lost++;
      await new Promise(resolve => setTimeout(resolve, 1));
    }
  });
  const code = await bomb.fetch('http://x/bomb').then(
    async response => `${response.status} ${(await response.text().catch(() => 'broken')).slice(0, 10)}`,
    (error: unknown) => errorCode(error) ?? String(error),
  );
  const isBack = await bomb.fetch('http://x/').then(
    async response => (await response.text()) === 'fine',
    () => false,
  );
  isOver = true;
  await Promise.all(work);
  process.send?.({ lost, served, code, isBack });
});
process.on('disconnect', () => void host.close({ drainMs: 0 }).then(() => process.exit(0)));
process.send?.('ready');
