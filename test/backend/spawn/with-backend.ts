/** Backend processes of tests: the code under test starts them, and they are gone when the test ends. */
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ExecutionContext } from 'ava';
import type { BackendConnection } from '../../../src/backend/spawn/backend-connection.js';
import { type BackendOptions, connectBackend } from '../../../src/backend/spawn/connect-backend.js';
import { temporaryDirectory } from '../../bindings/bucket/stores.js';

export const MAIN = fileURLToPath(new URL('./programs/backend.js', import.meta.url));

/** Backend processes that a test has met. */
const met = new WeakMap<ExecutionContext, Set<number>>();

/** A storage directory that is not there yet. When the test ends, and has closed what it has, all processes that it has met end. */
export async function storageDirectory(t: ExecutionContext): Promise<string> {
  const directory = join(await temporaryDirectory(t), 'data');
  t.teardown(async () => {
    for (const pid of met.get(t) ?? []) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It has ended.
      }
      await untilGone(pid);
    }
  });
  return directory;
}

/** Ends the process when the test ends. */
export function endWith(t: ExecutionContext, pid: number): void {
  const pids = met.get(t) ?? new Set();
  met.set(t, pids.add(pid));
}

/** Waits for the end of a process that may be none of this one's children. */
export async function untilGone(pid: number): Promise<void> {
  await until(() => !isRunning(pid));
}

export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  try {
    // One that has ended, and whose parent has not asked how, is in the lists still.
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return process.platform !== 'linux';
  }
}

/** Looks again and again: for what other processes do, and say to nobody. AVA ends a test that waits for what never comes. */
export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise(resolve => setTimeout(resolve, 5));
}

export interface Client {
  readonly connection: BackendConnection;
  /** Why the connection was lost. */
  readonly lost: Promise<string>;
  ask(line: string): Promise<string>;
}

/** Connects, and closes when the test ends. */
export async function connectTo(
  t: ExecutionContext,
  directory: string,
  options: Partial<BackendOptions> = {},
): Promise<Client> {
  const connection = await connectBackend({ directory, main: MAIN, ...options });
  endWith(t, connection.pid);
  t.teardown(() => connection.close());
  const lost = new Promise<string>(resolve => connection.listen({ onLost: resolve, onSilent: () => {} }));
  return { connection, lost, ask: line => ask(connection, line) };
}

/** Of answers only one is under way at a time. */
export async function ask({ control }: BackendConnection, line: string): Promise<string> {
  control.write(`${line}\n`);
  let text = '';
  while (!text.endsWith('\n')) {
    const [chunk]: unknown[] = await once(control, 'data');
    text += String(chunk);
  }
  return text.trimEnd();
}

/** Whether the socket of a process is there. */
export function hasSocket(directory: string): boolean {
  return existsSync(join(directory, '.services', 'socket'));
}

/** The names under which the processes are in lists of processes. */
export function titlesIn(pids: readonly number[]): string[] {
  return pids.flatMap(pid => {
    try {
      return [(readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')[0] ?? '').trim()];
    } catch {
      return [];
    }
  });
}
