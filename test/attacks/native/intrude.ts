/** Native code in the place of Node, behind the wall that cells have: started on the same way as a cell, with the same command before it. */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ExecutionContext } from 'ava';
import { compileC, missingCompiler } from '../../../benchmarks/hijacked/compile-c.js';
import type { Sandbox } from '../../../src/pool/sandbox/sandbox.js';
import { type Inmate, spawnBehind } from '../../../src/pool/sandbox/spawn.js';
import { withFiles } from './with-files.js';

const SOURCE = fileURLToPath(new URL('../../../../test/attacks/native/intruder.c', import.meta.url));
/** Where the program is in a root of its own. */
const INSIDE = '/intruder';
const SOCKET_FD = 3;

/** What was tried, to "ok" or "refused (reason)". */
export type Findings = ReadonlyMap<string, string>;

/** Undefined where there is no C compiler, or no headers of the C library. */
export function compileIntruder(): { readonly path: string; remove(): void } | undefined {
  if (missingCompiler() !== undefined) return undefined;
  const folder = mkdtempSync(join(tmpdir(), 'edgehost-intruder-'));
  return { path: compileC(SOURCE, folder), remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** Starts the program; `finished` has what it found. */
export function startIntruder(
  sandbox: Sandbox,
  path: string,
  words: readonly string[],
): Inmate<ChildProcess> & { readonly finished: Promise<Findings> } {
  const program = sandbox.state.root ? INSIDE : path;
  const inmate = spawnBehind(
    withFiles(sandbox, [{ path, inside: program }]),
    [program, ...words],
    ['ignore', 'pipe', 'pipe', 'pipe'],
  );
  return Object.assign(inmate, { finished: read(inmate) });
}

/** Another cell, which goes on until the test is over. */
export async function startNeighbour(t: ExecutionContext, sandbox: Sandbox, path: string): Promise<number> {
  const inmate = startIntruder(sandbox, path, ['wait=']);
  const over = inmate.finished.catch(() => {});
  t.teardown(async () => {
    inmate.kill();
    await over;
  });
  return waitingPid(inmate);
}

/** The process that waits, when it does. */
export async function waitingPid(inmate: Inmate<ChildProcess>): Promise<number> {
  const { child } = inmate;
  for (let text = ''; !text.includes('waiting'); ) {
    const [chunk] = await once(child.stdout ?? child, 'data');
    text += String(chunk);
  }
  const { pid } = inmate;
  if (pid === undefined) throw new Error('The program has no process');
  return pid;
}

async function read({ child }: Inmate<ChildProcess>): Promise<Findings> {
  let text = '';
  let errors = '';
  let echo = '';
  child.stdout?.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  child.stderr?.on('data', (chunk: Buffer) => {
    errors += chunk.toString();
  });
  const socket = child.stdio[SOCKET_FD];
  if (!(socket instanceof Socket)) throw new Error('The program has no socket');
  socket.on('data', (chunk: Buffer) => {
    echo += chunk.toString();
  });
  socket.write('ping');
  const [code, signal] = await once(child, 'close');
  socket.destroy();
  if (!text.includes('\nend\n'))
    throw new Error(`The program did not come to its end: ${code} ${signal} ${text.slice(-200)} ${errors}`);
  const lines = text.split('\n').map(line => /^(.*): (ok|refused .*)$/.exec(line));
  const found = new Map(lines.flatMap(line => (line === null ? [] : [[line[1] ?? '', line[2] ?? ''] as const])));
  return found.set('echo', echo === 'PING' ? 'ok' : `refused (${echo})`);
}

/** What the program was able to do, of all that it tried. */
export function successes(found: Findings): string[] {
  return [...found].flatMap(([name, outcome]) => (outcome === 'ok' ? [name] : []));
}
