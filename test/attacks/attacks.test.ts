/**
 * Runs every program of test/attacks/programs in both isolation modes. An attack is contained when nothing it got hold of is of the host
 * realm, and when afterwards its own account and its neighbours answer as if nothing had happened.
 */
import { readdirSync } from 'node:fs';
import test, { type ExecutionContext } from 'ava';
import { type Account, type EdgeFunction, EdgeHost } from '../../src/index.js';
import { errorCode } from '../../src/quotas/errors.js';
import { handler, ISOLATIONS, type Isolation } from '../host/new-host.js';
import type { Attack } from './attack.js';
import { PROBE } from './probe.js';

interface Arena {
  readonly host: EdgeHost;
  readonly attacker: Account;
  /** A function of the attacker's own account, and one of another. */
  readonly innocent: readonly EdgeFunction[];
  /** Cells that the host has ended for the CPU time that they used: an isolate that is not ended in its cell takes all of it along. */
  readonly endedCells: unknown[];
}

const folder = new URL('./programs/', import.meta.url);
const files = readdirSync(folder).filter(name => name.endsWith('.js'));
const attacks = await Promise.all(
  files.map(async (name): Promise<Attack> => (await import(new URL(name, folder).href)).default),
);

/** An attack that waits indefinitely has a mistake in its program. */
const PATIENCE_MS = 30_000;

const FINE = handler('return new Response("fine")');
const arenas = new Map<Isolation, Arena>();

test.before(async () => {
  for (const isolation of ISOLATIONS) {
    const host = new EdgeHost({
      storage: ':memory:',
      isolation,
      // In cells the attacks run in warm isolates, as they do by default; in threads in ones that were started for them.
      spareIsolates: isolation === 'process' ? 1 : 0,
      limits: { cpuMs: 1000, cpuOverrunMs: 0, startupMs: 1000 },
    });
    const attacker = host.account('attacker');
    const innocent = [
      await attacker.load(FINE, { name: 'innocent' }),
      await host.account('neighbour').load(FINE, { name: 'innocent' }),
    ];
    const endedCells: unknown[] = [];
    host.on('warning', error => {
      if (errorCode(error) === 'EDGE_CPU_LIMIT') endedCells.push(error);
    });
    arenas.set(isolation, { host, attacker, innocent, endedCells });
  }
});

test.after.always(async () => {
  for (const { host } of arenas.values()) await host.close({ drainMs: 0 });
});

test('there are at least eighty attacks', t => {
  t.true(attacks.length >= 80, `${attacks.length}`);
});

for (const isolation of ISOLATIONS) {
  for (const attack of attacks) {
    if (attack.isProcessOnly && isolation === 'thread') continue;
    test(`a function that tries ${attack.tries} is contained (${isolation})`, async t => {
      const arena = arenas.get(isolation);
      if (arena === undefined) throw new Error('No arena');
      await run(t, arena, attack);
      for (const fn of arena.innocent) t.is(await (await fn.fetch('https://innocent.test/')).text(), 'fine');
      t.deepEqual(arena.endedCells, []);
    });
  }
}

async function run(t: ExecutionContext, { host, attacker: shared }: Arena, attack: Attack): Promise<void> {
  const { holds } = attack;
  // What can cost its account the cell has one to itself: it may go on for a while after its invocation has ended, beside the next attack.
  const isAlone = holds.kind === 'ended' && holds.codes.includes('EDGE_CELL_LOST');
  const attacker = isAlone ? host.account('attacker-alone') : shared;
  let fn: EdgeFunction;
  try {
    fn = await load(attacker, attack);
  } catch (error) {
    t.true(
      holds.kind !== 'contained' && holds.codes.includes(String(errorCode(error))),
      `not loaded: ${String(error)}`,
    );
    return;
  }
  if (holds.kind === 'refused') t.fail('was loaded');
  let answer: string;
  try {
    const signal = AbortSignal.timeout(PATIENCE_MS);
    const response = await fn.fetch('https://attack.test/path?query', { method: 'POST', body: 'the body', signal });
    answer = await response.text();
  } catch (error) {
    t.true(holds.kind === 'ended' && holds.codes.includes(String(errorCode(error))), `ended: ${String(error)}`);
    return;
  } finally {
    fn.unload();
  }
  t.is(answer, 'contained');
  t.is(holds.kind, 'contained', 'did not end');
}

function load(account: Account, attack: Attack): Promise<EdgeFunction> {
  const { modules, isScript, vars, holds } = attack;
  // What the CPU limit alone ends, it ends at a fifth of the limit, too.
  const isEndless = holds.kind === 'ended' && holds.codes.every(code => code === 'EDGE_CPU_LIMIT');
  const options = { name: 'attack', vars, ...(isEndless && { limits: { cpuMs: 200 } }) };
  const [main = ''] = Object.keys(modules);
  if (isScript) return account.load(modules[main] ?? '', options);
  return account.load({ main, modules: { ...modules, './probe.js': PROBE } }, options);
}
