/**
 * Runs every program of test/attacks/programs in both isolation modes. An attack is contained when nothing it got hold of is of the host
 * realm, and when afterwards its own account and its neighbours answer as if nothing had happened.
 */
import test from 'ava';
import { type Account, type EdgeFunction, EdgeHost } from '../../src/index.js';
import { errorCode } from '../../src/quotas/errors.js';
import { handler, ISOLATIONS, type Isolation } from '../host/new-host.js';
import { ATTACKS } from './all-attacks.js';
import type { Attack } from './attack.js';

interface Arena {
  readonly host: EdgeHost;
  readonly attacker: Account;
  /** A function of the attacker's own account, and one of another. */
  readonly innocent: readonly EdgeFunction[];
  /** Cells that the host has ended for the CPU time that they used: an isolate that is not ended in its cell takes all of it along. */
  readonly endedCells: unknown[];
}

/** How a program gets into the account. */
export interface Way {
  /** The beginning of the titles: "a function". */
  readonly subject: string;
  /** Whether the program can be run so. */
  takes(attack: Attack): boolean;
  /** Runs the program. Resolves with its answer; rejects with the error that refuses or ends it. */
  run(account: Account, attack: Attack): Promise<string>;
}

/** An attack that waits indefinitely has a mistake in its program. */
export const PATIENCE_MS = 30_000;

const FINE = handler('return new Response("fine")');

/** An attack that the CPU limit alone ends. It ends at a lower limit, too. */
export function isEndless({ holds }: Attack): boolean {
  return holds.kind === 'ended' && holds.codes.every(code => code === 'EDGE_CPU_LIMIT');
}

/** Declares the tests. */
export function testAttacks(way: Way): void {
  const arenas = new Map<Isolation, Arena>();

  test.before(async () => {
    for (const isolation of ISOLATIONS) arenas.set(isolation, await openArena(isolation));
  });

  test.after.always(async () => {
    for (const { host } of arenas.values()) await host.close({ drainMs: 0 });
  });

  for (const isolation of ISOLATIONS) {
    for (const attack of ATTACKS) {
      if ((attack.isProcessOnly && isolation === 'thread') || !way.takes(attack)) continue;
      const { holds } = attack;
      test(`${way.subject} that tries ${attack.tries} is contained (${isolation})`, async t => {
        const arena = arenas.get(isolation);
        if (arena === undefined) throw new Error('No arena');
        // An attack that can cost its account the cell has an account to itself: it may run on for a while beside the next attack.
        const isAlone = holds.kind === 'ended' && holds.codes.includes('EDGE_CELL_LOST');
        const account = isAlone ? arena.host.account('attacker-alone') : arena.attacker;
        const answer = await way.run(account, attack).catch((error: unknown) => {
          const isMeant = holds.kind !== 'contained' && holds.codes.includes(String(errorCode(error)));
          t.true(isMeant, `refused or ended: ${String(error)}`);
          return undefined;
        });
        if (answer !== undefined) {
          t.is(answer, 'contained');
          t.is(holds.kind, 'contained', 'did not end');
        }
        for (const fn of arena.innocent) t.is(await (await fn.fetch('https://innocent.test/')).text(), 'fine');
        t.deepEqual(arena.endedCells, []);
      });
    }
  }
}

async function openArena(isolation: Isolation): Promise<Arena> {
  const host = new EdgeHost({
    storage: ':memory:',
    isolation,
    // In cells the attacks run in warm isolates, as they do by default; in threads in ones that were started for them.
    spareIsolates: isolation === 'process' ? 1 : 0,
    limits: { cpuMs: 3000, cpuOverrunMs: 0, startupMs: 1000 },
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
  return { host, attacker, innocent, endedCells };
}
