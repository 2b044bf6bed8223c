/** The watch over a cell with readings that a test writes, and time that it gives. */
import test from 'ava';
import { type CellBounds, CPU, POLL_MS, SURVEY } from '../../../../src/pool/host/cell-usage/cell-bounds.js';
import {
  type CellClaims,
  type CellFinding,
  type CellGlance,
  type CellReader,
  type CellSurvey,
  CellWatch,
} from '../../../../src/pool/host/cell-usage/cell-watch.js';

const MEBIBYTE = 1024 * 1024;
const BOUNDS: CellBounds = {
  memoryBytes: 100 * MEBIBYTE,
  threads: 20,
  descriptors: 50,
  writtenBytes: 1000,
};
const IDLE: CellClaims = { openMs: 0, earnedMs: 0, isolates: 1 };
const ALLOWED_MS = CPU.slackMs + CPU.isolateSlackMs;

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

class Rig implements CellReader {
  readonly source = 'processes';
  readonly glanced: Mutable<CellGlance> = { cpuMs: 0, residentBytes: 50 * MEBIBYTE, threads: 12 };
  surveyed: Mutable<CellSurvey> | undefined = {
    processes: 2,
    threads: 13,
    residentBytes: 50 * MEBIBYTE,
    descriptors: 50,
    fileBytes: 0,
    writtenBytes: 0,
  };
  readonly watch: CellWatch;
  surveys = 0;
  tallies = 0;
  claims = IDLE;
  #nowMs = 0;

  /** @param upMs what the cell has taken until it was up */
  constructor(given?: Partial<CellSurvey>, upMs: number = CPU.upMs) {
    Object.assign(this.surveyed ?? {}, given);
    this.glanced.cpuMs = upMs;
    this.watch = new CellWatch(this, BOUNDS, 0);
    this.surveys = 0;
  }

  glance(): CellGlance {
    return this.glanced;
  }

  tally(): CellSurvey | undefined {
    this.tallies++;
    return this.surveyed;
  }

  survey(): CellSurvey | undefined {
    this.surveys++;
    return this.surveyed;
  }

  async memory(): Promise<number | undefined> {
    return undefined;
  }

  close(): void {}

  /** The next poll, in which the cell turns out to have used so much. */
  poll(cpuMs = 0): CellFinding | undefined {
    this.#nowMs += POLL_MS;
    this.glanced.cpuMs += cpuMs;
    return this.watch.poll(this.claims, this.#nowMs);
  }

  /** Polls until something is found; answers how many it took, or undefined. */
  pollsUntilFound(most: number, cpuMs = 0): number | undefined {
    for (let poll = 1; poll <= most; poll++) if (this.poll(cpuMs) !== undefined) return poll;
    return undefined;
  }
}

const SHARE_MS = POLL_MS * CPU.idleShare;

test('poll() lets a cell without invocations use its share of a core indefinitely', t => {
  t.is(new Rig().pollsUntilFound(10_000, SHARE_MS), undefined);
});

test('poll() lets a cell use its slack at once, again and again when it rests meanwhile', t => {
  const rig = new Rig();
  for (let round = 0; round < 20; round++) {
    t.is(rig.poll(ALLOWED_MS), undefined);
    t.is(rig.pollsUntilFound(ALLOWED_MS / SHARE_MS), undefined);
  }
});

test('poll() ends a cell that stays past its slack, at the second poll in a row', t => {
  const rig = new Rig();
  t.is(rig.poll(ALLOWED_MS + SHARE_MS + 1), undefined);
  t.like(rig.poll(SHARE_MS), {
    kind: 'cpu',
    detail: `it used ${ALLOWED_MS + 1} ms of CPU time that its invocations do not account for, at most ${ALLOWED_MS} ms are allowed`,
    unaccountedMs: ALLOWED_MS + 1,
  });
});

test('poll() ends a cell without invocations that burns: one thread within 1.25 s, two within 1, a fifth more than its share in a minute', t => {
  t.is(new Rig().pollsUntilFound(6, POLL_MS), 4);
  t.is(new Rig().pollsUntilFound(4, 2 * POLL_MS), 3);
  const polls = new Rig().pollsUntilFound(240, SHARE_MS * 1.2) ?? 0;
  t.true(polls > 40);
});

test('poll() allows more where the cell took longer to come up, to a bound', t => {
  const slow = new Rig(undefined, 3 * CPU.upMs);
  t.is(slow.poll(3 * ALLOWED_MS + SHARE_MS), undefined);
  t.is(slow.pollsUntilFound(2, SHARE_MS + 1), 2);
  const slowest = new Rig(undefined, 100 * CPU.upMs);
  t.is(slowest.poll(CPU.slowest * ALLOWED_MS + SHARE_MS), undefined);
  t.is(slowest.pollsUntilFound(2, SHARE_MS + 1), 2);
  const fast = new Rig(undefined, CPU.upMs / 10);
  t.is(fast.poll(ALLOWED_MS + SHARE_MS), undefined);
  t.is(fast.pollsUntilFound(2, SHARE_MS + 1), 2);
});

test('poll() lets a cell use what its open invocations may, and no more', t => {
  const rig = new Rig();
  rig.claims = { openMs: 10_000, earnedMs: 0, isolates: 1 };
  t.is(rig.pollsUntilFound(16, (10_000 + ALLOWED_MS) / 16 + SHARE_MS), undefined);
  t.is(rig.pollsUntilFound(2, SHARE_MS + 1), 2);
});

test('poll() accounts for what invocations have claimed by their end', t => {
  const rig = new Rig();
  rig.claims = { openMs: 10_000, earnedMs: 0, isolates: 1 };
  t.is(rig.poll(8000), undefined);
  rig.claims = { openMs: 0, earnedMs: 8000, isolates: 1 };
  t.is(rig.pollsUntilFound(100), undefined);
});

test('poll() ends a cell whose invocations end with less than it has used', t => {
  const rig = new Rig();
  rig.claims = { openMs: 10_000, earnedMs: 0, isolates: 1 };
  t.is(rig.poll(8000), undefined);
  rig.claims = { openMs: 0, earnedMs: 10, isolates: 1 };
  t.is(rig.pollsUntilFound(100), CPU.persistentPolls);
});

test('poll() saves nothing up: what was accounted for and not used is gone', t => {
  const rig = new Rig();
  rig.claims = { openMs: 0, earnedMs: 1_000_000, isolates: 1 };
  t.is(rig.poll(), undefined);
  t.is(rig.pollsUntilFound(4, 2 * POLL_MS), 3);
});

test('poll() compares nothing while an invocation without a limit is open, and begins anew after it', t => {
  const rig = new Rig();
  rig.claims = { openMs: Number.POSITIVE_INFINITY, earnedMs: 0, isolates: 1 };
  t.is(rig.pollsUntilFound(1000, 4 * POLL_MS), undefined);
  rig.claims = IDLE;
  t.is(rig.pollsUntilFound(4, 2 * POLL_MS), 3);
});

test('poll() does not take a machine that slept for one that burned', t => {
  const rig = new Rig();
  t.is(rig.watch.poll(IDLE, 3_600_000), undefined);
  t.is(rig.watch.poll(IDLE, 3_600_000), undefined);
});

test('poll() ends a cell whose own memory or threads pass their bound, at once', t => {
  const rig = new Rig();
  rig.glanced.residentBytes = BOUNDS.memoryBytes;
  rig.glanced.threads = BOUNDS.threads;
  t.is(rig.poll(), undefined);
  rig.glanced.threads++;
  t.like(rig.poll(), { kind: 'cell', detail: 'it has 21 threads, at most 20 are allowed' });
  rig.glanced.threads--;
  rig.glanced.residentBytes++;
  t.like(rig.poll(), {
    kind: 'memory',
    detail: 'out of memory: the cell holds 100 MiB, at most 100 MiB are allowed',
  });
});

const past: readonly [string, Partial<CellSurvey>, Partial<CellSurvey>, CellFinding['kind'], string][] = [
  ['a process more than there were', { processes: 2 }, { processes: 3 }, 'cell', 'it has 3 processes, at most 2'],
  ['threads in other processes', { threads: 20 }, { threads: 21 }, 'cell', 'it has 21 threads, at most 20'],
  ['descriptors', { descriptors: 50 }, { descriptors: 51 }, 'cell', 'it has 51 open descriptors, at most 50'],
  [
    'files that nobody sees',
    { fileBytes: 50 * MEBIBYTE },
    { fileBytes: 51 * MEBIBYTE },
    'memory',
    'out of memory: the cell holds 101 MiB, 51 MiB of it in files that it holds open, at most 100 MiB',
  ],
  [
    'memory of all processes',
    { residentBytes: 100 * MEBIBYTE },
    { residentBytes: 101 * MEBIBYTE },
    'memory',
    'out of memory: the cell holds 101 MiB, at most 100 MiB',
  ],
  [
    'what it writes to disk',
    { writtenBytes: 1000 },
    { writtenBytes: 1001 },
    'cell',
    'it has 1001 bytes written to disk',
  ],
];

for (const [what, at, beyond, kind, detail] of past) {
  test(`poll() ends a cell for ${what}, within 2 s of passing the bound and not at it`, t => {
    const rig = new Rig();
    Object.assign(rig.surveyed ?? {}, at);
    t.is(rig.pollsUntilFound(50, 10), undefined);
    Object.assign(rig.surveyed ?? {}, beyond);
    let finding: CellFinding | undefined;
    // What fills a page uses CPU time: a tick of the kernel's clock at least.
    for (let poll = 0; poll < 2000 / POLL_MS && finding === undefined; poll++) finding = rig.poll(poll === 0 ? 10 : 0);
    t.is(finding?.kind, kind);
    t.true(finding?.detail.startsWith(detail), finding?.detail);
  });
}

for (const more of [{ processes: 3 }, { descriptors: 51 }]) {
  test(`poll() ends a cell that uses no CPU time for ${Object.keys(more)} more, within 2 s`, t => {
    const rig = new Rig();
    t.is(rig.pollsUntilFound(50), undefined);
    Object.assign(rig.surveyed ?? {}, more);
    t.true((rig.pollsUntilFound(2000 / POLL_MS) ?? 0) > 0);
    t.is(rig.surveys, 0);
  });
}

test('poll() surveys a cell that uses CPU time, and only tallies one that rests', t => {
  const busy = new Rig();
  busy.pollsUntilFound(4 * SURVEY.activePolls, 1);
  t.is(busy.surveys, 4);
  const idle = new Rig();
  idle.pollsUntilFound(4 * SURVEY.idlePolls);
  t.is(idle.surveys, 0);
  t.is(idle.tallies, 4);
});

test('poll() ends a cell that cannot be surveyed any more, and not one that never could be', t => {
  const hiding = new Rig();
  hiding.surveyed = undefined;
  let finding: CellFinding | undefined;
  for (let poll = 0; poll < SURVEY.refusedInARow * SURVEY.idlePolls; poll++) {
    finding ??= hiding.poll(poll === 0 ? 10 : 0);
  }
  t.like(finding, { kind: 'cell', detail: 'it hides what it holds open from the host' });
  const rig = new Rig();
  rig.surveyed = undefined;
  const watch = new CellWatch(rig, BOUNDS, 0);
  for (let poll = 1; poll < 100; poll++) t.is(watch.poll(IDLE, poll * POLL_MS), undefined);
});

test('usage() tells what the kernel says of all of it', t => {
  const rig = new Rig({ fileBytes: MEBIBYTE });
  t.deepEqual(rig.watch.usage(), { processes: 2, cpuMs: CPU.upMs, residentBytes: 51 * MEBIBYTE });
});
