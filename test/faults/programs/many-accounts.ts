/**
 * An application with more accounts than the system has descriptors or tasks for: it uses them in turn and again, then answers many clients that connect
 * at once. Prints what came of it.
 */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type EdgeFunction, EdgeHost } from '../../../src/index.js';
import { errorCode } from '../../../src/quotas/errors.js';
import { limitDescriptors } from './limit-descriptors.js';

const [accounts = '100', isolation = 'process', storage = ':memory:'] = process.argv.slice(2);

limitDescriptors();
const host = new EdgeHost({
  storage,
  backend: storage === ':memory:' ? 'inline' : 'process',
  isolation: isolation === 'thread' ? 'thread' : 'process',
});
host.on('warning', () => {});
const app = await host.account('app').load('export default { fetch() { return new Response("app") } };');
const server = createServer({ maxHeaderSize: 65_536 }, host.listener({ function: app })).listen(0, '127.0.0.1');
await once(server, 'listening');

const answers: Record<string, number> = {};
const count = (answer: string): undefined => {
  answers[answer] = (answers[answer] ?? 0) + 1;
};
const failed = (error: unknown): undefined => count(errorCode(error) ?? String(error));
const use = async (fn: EdgeFunction): Promise<void> => {
  const response = await fn.fetch('http://x/').catch(failed);
  if (response !== undefined) count(await response.text());
};
const fns: EdgeFunction[] = [];
for (let at = 0; at < Number(accounts); at++) {
  const fn = await host
    .account(`account-${at}`)
    .load('export default { fetch() { return new Response("fine") } };')
    .catch(failed);
  if (fn === undefined) continue;
  fns.push(fn);
  await use(fn);
}
for (const fn of fns.slice(0, 10)) {
  await use(fn);
}
const { descriptors, tasks } = host.health();
const { port } = server.address() as AddressInfo; // it listens on a port
const clients = fileURLToPath(new URL('./many-clients.js', import.meta.url));
const { stdout } = await promisify(execFile)(process.execPath, [clients, String(port), '200']);
process.stdout.write(JSON.stringify({ answers, clients: Number(stdout), descriptors, tasks }));
server.close();
await host.close({ drainMs: 0 });
