/** Starts a host, and prints the warnings of its first two loads with the state of its sandbox. */
import process from 'node:process';
import { EdgeHost } from '../../../src/index.js';

const host = new EdgeHost({ storage: ':memory:' });
const warnings: string[] = [];
host.on('warning', error => warnings.push(`${'code' in error ? error.code : ''} ${error.message}`));
const source = 'export default { fetch() { return new Response("fine"); } }';
const answers: string[] = [];
for (const account of ['a', 'b']) {
  const fn = await host.account(account).load(source);
  answers.push(await (await fn.fetch('http://x/')).text());
}
const { sandbox } = host.health();
await host.close();
process.stdout.write(JSON.stringify({ warnings, answers, sandbox }), () => process.exit(0));
