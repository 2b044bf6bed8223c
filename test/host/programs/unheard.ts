/** Calls a function that logs and one that throws, two times each. Arguments: which event of the host is listened to, if any. */
import process from 'node:process';
import { EdgeHost } from '../../../src/index.js';

const host = new EdgeHost({ storage: ':memory:' });
const [, , event] = process.argv;
if (event === 'log' || event === 'invocation') host.on(event, () => {});
const throws = await host.load(`export default { fetch() { throw new Error("unseen") } }`, {
  name: 'throws',
});
const logs = await host.load('export default { fetch() { console.log("unseen"); return new Response(); } }', {
  name: 'logs',
});
const fine = await host.load('export default { fetch: () => new Response() }', { name: 'fine' });
for (let round = 0; round < 2; round++) {
  await fine.fetch('http://x/');
  if (event === 'quiet' || event === 'run') continue;
  await throws.fetch('http://x/').catch(() => {});
  await logs.fetch('http://x/');
}
if (event === 'run') {
  const box = host.account('default').sandbox();
  await box.run('console.log("seen in the result")');
  await box.run('throw new Error("seen in the result")');
}
await host.close();
