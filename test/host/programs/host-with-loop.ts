/** An application with a function that never ends; prints the pid of its cell. For tests of how applications end. */
import process from 'node:process';
import { EdgeHost } from '../../../src/index.js';

const host = new EdgeHost({ storage: ':memory:', limits: { cpuMs: 600_000 } });
const fn = await host.load('export default { fetch() { for (;;); } }');
fn.fetch('http://x/').catch(() => {});
process.stdout.write(`${host.health().cells[0]?.pid}\n`);
if (process.argv[2] === 'exit') setTimeout(() => process.exit(0), 200);
else setInterval(() => {}, 1000);
