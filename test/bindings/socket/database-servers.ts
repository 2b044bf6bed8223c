/** Real servers of tests, on ports that were free a moment ago. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import type { ExecutionContext } from 'ava';

export function isMissing(...programs: readonly string[]): string | undefined {
  const missing = programs.find(program => spawnSync(program, ['--version']).status !== 0);
  return missing === undefined ? undefined : `no ${missing}`;
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('The server does not listen on TCP');
  return address.port;
}

/** Answers when the program takes connections. It ends with the test. */
async function started(t: ExecutionContext, child: ChildProcess, port: number): Promise<void> {
  const ended = once(child, 'exit');
  t.teardown(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  let isOver = false;
  void ended.then(() => {
    isOver = true;
  });
  for (;;) {
    if (isOver) throw new Error(`${child.spawnfile} has ended`);
    const socket = connect(port, '127.0.0.1');
    const isOpen = await new Promise<boolean>(resolve => {
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    });
    socket.destroy();
    if (isOpen) return;
  }
}

export async function redisServer(t: ExecutionContext): Promise<number> {
  const port = await freePort();
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
  await started(t, spawn('redis-server', args, { stdio: 'ignore', cwd: tmpdir() }), port);
  return port;
}

/** Nobody's: the server refuses to run as root. */
const NOBODY = 65_534;

export async function postgresServer(t: ExecutionContext): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'edgehost-postgres-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const isRoot = process.getuid?.() === 0;
  if (isRoot) chownSync(folder, NOBODY, NOBODY);
  const user = isRoot ? { uid: NOBODY, gid: NOBODY } : {};
  const data = join(folder, 'data');
  const made = spawnSync('initdb', ['-D', data, '-U', 'edge', '-A', 'trust', '--no-sync', '-E', 'UTF8'], {
    ...user,
    cwd: folder,
    encoding: 'utf8',
  });
  if (made.status !== 0) throw new Error(`initdb failed: ${made.stderr}`);
  const port = await freePort();
  const args = ['-D', data, '-p', String(port), '-h', '127.0.0.1', '-k', folder, '-F'];
  await started(t, spawn('postgres', args, { ...user, stdio: 'ignore', cwd: folder }), port);
  return port;
}
