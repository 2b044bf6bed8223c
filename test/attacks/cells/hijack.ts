/**
 * Hosts of which one account's cells run a program of the attacker, behind the real sandbox and under the real supervisor: what is started on behalf of
 * that account is another command.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ExecutionContext } from 'ava';
import { programText, withProgram, withText } from '../../../benchmarks/hijacked/commands.js';
import { compileC } from '../../../benchmarks/hijacked/compile-c.js';
import { interceptCells } from '../../../benchmarks/hijacked/starts.js';
import { type EdgeFunction, EdgeHost, type EdgeHostOptions, type LoadOptions } from '../../../src/index.js';
import type { SpawnedProcess } from '../../../src/pool/sandbox/spawn.js';
import { handler } from '../../host/new-host.js';

/** How the command of a cell becomes that of the attacker. */
export type Hijack = (command: readonly string[]) => string[];

/** A host with functions of accounts whose cells are up: neighbours of every attacker that comes to it. */
export interface Neighbourhood {
  readonly host: EdgeHost;
  readonly neighbours: readonly EdgeFunction[];
}

export interface HijackedHost extends Neighbourhood {
  /** The attacker's account, which no attacker had before. */
  readonly attacker: string;
  /** A request to the attacker's cell: what is to be done there is in the path. */
  attack(path: string, signal: AbortSignal): Promise<Response>;
  /** Bytes that the host has read of the leases and of the standard error of the attacker's cells. */
  readBytes(): number;
}

const SOURCE = fileURLToPath(new URL('../../../../test/attacks/cells/hijacked-cell.c', import.meta.url));
const NEIGHBOURS = 3;

interface Hijacking {
  readonly hijack: Hijack;
  readonly cells: SpawnedProcess[];
}

/** The attackers that a call is made to now, the last one at the end. Cells are started in no async context, so that cannot tell. */
const called: Hijacking[] = [];

/** Cells that start until the call is over are the attacker's: those of neighbours are up. */
async function during<T>(attacker: Hijacking, call: () => Promise<T>): Promise<T> {
  called.push(attacker);
  try {
    return await call();
  } finally {
    called.splice(called.lastIndexOf(attacker), 1);
  }
}

interceptCells((command, start) => {
  const attacker = called.at(-1);
  if (attacker === undefined) return start(command);
  const child = start(attacker.hijack(command));
  attacker.cells.push(child);
  return child;
});

/** By hijacked-cell.ts, in the same Node with the same flags. */
export function inJavaScript(): Hijack {
  const text = programText(new URL('./hijacked-cell.js', import.meta.url));
  return command => withText(command, text);
}

/** By hijacked-cell.c, which next to no processor time is needed for. */
export function inC(t: ExecutionContext): Hijack {
  const folder = mkdtempSync(join(tmpdir(), 'edgehost-hijacked-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const path = compileC(SOURCE, folder);
  return command => withProgram(command, { path, args: [] });
}

const SOURCE_OF_ALL = handler(`return new Response('innocent')`);

export async function openNeighbourhood(options: EdgeHostOptions): Promise<Neighbourhood> {
  const host = new EdgeHost({ storage: ':memory:', spareIsolates: 0, warmCells: 0, ...options });
  const neighbours = await Promise.all(
    Array.from({ length: NEIGHBOURS }, (_, index) => host.account(`neighbour-${index}`).load(SOURCE_OF_ALL)),
  );
  return { host, neighbours };
}

let attackers = 0;

/** The attacker's cell has its function, and goes with the test. */
export async function hijackedHost(
  t: ExecutionContext,
  { host, neighbours }: Neighbourhood,
  hijack: Hijack,
  bound: LoadOptions = {},
): Promise<HijackedHost> {
  const cells: SpawnedProcess[] = [];
  const store = { hijack, cells };
  const attacker = `attacker-${attackers++}`;
  const account = host.account(attacker);
  t.teardown(() => account.close());
  await account.bucket('files').put('object', new Uint8Array(4 * 1024 * 1024));
  const domain = `${attacker}.test`;
  const routes = [{ pattern: `${domain}/*`, customDomain: true }];
  const fn = await during(store, () => account.load(SOURCE_OF_ALL, { buckets: { FILES: 'files' }, routes, ...bound }));
  return {
    host,
    neighbours,
    attacker,
    attack: (path, signal) => during(store, () => fn.fetch(`https://${domain}${path}`, { signal })),
    readBytes: () =>
      cells.flatMap(({ stdio }) => stdio?.slice(2) ?? []).reduce<number>((sum, stream) => sum + bytesRead(stream), 0),
  };
}

function bytesRead(stream: unknown): number {
  return stream instanceof Socket ? stream.bytesRead : 0;
}
