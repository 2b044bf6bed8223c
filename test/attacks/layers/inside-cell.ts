/**
 * A cell without the guest realm: the same command line, sandbox, permission model and thread flags as the real one, and in it code that
 * has `process` and `require` in hand, as if every layer before had been broken.
 */
import process from 'node:process';
import { cellFlags, isolateFlags } from '../../../src/pool/sandbox/cell-flags.js';
import { sandboxFor } from '../../../src/pool/sandbox/sandbox.js';
import { spawnBehind } from '../../../src/pool/sandbox/spawn.js';
import type { SandboxMode } from '../../../src/pool/sandbox/state.js';

export interface Loot {
  /** What was tried, to "ok ..." or the error. */
  readonly [attempt: string]: string;
}

/** Runs as a CommonJS script with `require`; answers by `report(loot)`. */
function plunder(hostPid: number, port: number): string {
  return `
const fs = require('node:fs');
const loot = {};
const attempt = (name, code) => { try { loot[name] = 'ok ' + String(code()).slice(0, 60); } catch (error) { loot[name] = String(error.code ?? error.message); } };
attempt('read a file', () => fs.readFileSync('/etc/passwd'));
attempt('list a folder', () => fs.readdirSync('/etc'));
attempt('read the environment of the host', () => fs.readFileSync('/proc/${hostPid}/environ'));
attempt('read the memory of the host', () => fs.openSync('/proc/${hostPid}/mem', 'r'));
for (const path of ['/proc/self/environ', '/proc/self/root/etc/passwd', '/proc/thread-self/root/etc/passwd', '/proc/thread-self/cwd/etc/passwd', '/proc/thread-self/schedstat/../root/etc/passwd', '/proc/self/maps', '/proc/thread-self/schedstat/../../../../${hostPid}/environ'])
  attempt('read ' + path, () => fs.readFileSync(path));
attempt('write a file', () => fs.writeFileSync('/tmp/edgehost-escaped', 'x'));
attempt('write to the package', () => fs.writeFileSync(${JSON.stringify(new URL(import.meta.url).pathname)}, 'x'));
attempt('link a file', () => fs.symlinkSync('/etc/passwd', '/tmp/edgehost-link'));
attempt('start a process', () => require('node:child_process').execSync('id'));
attempt('fork', () => require('node:child_process').fork('/etc/passwd').pid);
attempt('start a free thread', () => new (require('node:worker_threads').Worker)('', { eval: true, execArgv: [] }).threadId);
attempt('load an addon', () => process.dlopen({ exports: {} }, '/usr/lib/x.node'));
attempt('compile text', () => new Function('return 1')());
attempt('open the inspector', () => { require('node:inspector').open(0); return require('node:inspector').url(); });
attempt('use WASI', () => new (require('node:wasi').WASI)({ version: 'preview1', preopens: { '/': '/' } }));
attempt('use sqlite', () => new (require('node:sqlite').DatabaseSync)('/tmp/edgehost.sqlite'));
attempt('signal the host', () => process.kill(${hostPid}, 0));
attempt('become root', () => { process.setuid(0); return process.getuid(); });
loot.environment = Object.keys(process.env).join();
loot.uid = String(process.getuid());
const socket = require('node:net').connect(${port}, '127.0.0.1');
const finish = what => { loot['reach the network'] = what; socket.destroy(); report(loot); };
socket.once('connect', () => finish('ok'));
socket.once('error', error => finish(String(error.code)));
`;
}

export async function plunderInside(where: 'thread' | 'main', mode: SandboxMode, port: number): Promise<Loot> {
  const sandbox = await sandboxFor(mode);
  const code = plunder(process.pid, port);
  const flags = where === 'thread' ? cellFlags() : cellFlags().filter(flag => flag !== '--allow-worker');
  // An isolate closes all built-in modules before anything else runs in it, which has a test of its own (test/isolate/isolate.test.ts).
  const threadFlags = isolateFlags().filter(flag => flag !== '--expose-internals');
  const inMain = `const report = loot => process.stdout.write(JSON.stringify(loot), () => process.exit(0));`;
  const inThread = `const report = loot => require('node:worker_threads').parentPort.postMessage(loot);${code}`;
  const program =
    where === 'main'
      ? `${inMain}${code}`
      : `${inMain}new (require('node:worker_threads').Worker)(${JSON.stringify(inThread)}, { eval: true, env: {}, execArgv: ${JSON.stringify(threadFlags)} }).on('message', report).on('error', error => report({ crashed: String(error) }));`;
  const { child } = spawnBehind(sandbox, [process.execPath, ...flags, '--eval', program], ['ignore', 'pipe', 'pipe']);
  let text = '';
  let errors = '';
  child.stdout?.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  child.stderr?.on('data', (chunk: Buffer) => {
    errors += chunk.toString();
  });
  await new Promise(resolve => child.once('close', resolve));
  if (text === '') throw new Error(`The cell said nothing: ${errors}`);
  return JSON.parse(text);
}
