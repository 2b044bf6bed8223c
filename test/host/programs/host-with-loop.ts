/**
 * An application with a function that never ends; prints the pid of its cell. For tests of how applications end. Arguments: `exit`
 * or `stay`; `js` or `native`, for a loop that the engine can end, or one that it cannot; the mode of the sandbox.
 */
import process from 'node:process';
import { EdgeHost } from '../../../src/index.js';

const [, , how, loop, mode] = process.argv;
const LOOPS = { js: 'for (;;);', native: 'Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1);' };
const host = new EdgeHost({
  storage: ':memory:',
  limits: { cpuMs: 600_000 },
  sandbox: mode === 'off' ? 'off' : 'auto',
});
const fn = await host.load(`export default { fetch() { ${loop === 'native' ? LOOPS.native : LOOPS.js} } }`);
fn.fetch('http://x/').catch(() => {});
setTimeout(() => process.stdout.write(`${host.health().cells[0]?.pid}\n`), 200);
if (how === 'exit') setTimeout(() => process.exit(0), 400);
else setInterval(() => {}, 1000);
