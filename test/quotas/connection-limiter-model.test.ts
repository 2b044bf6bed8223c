/** The connection limiter against a model of the specification's table, over random orders of events. */

import test from 'ava';
import fc from 'fast-check';

import { type Connection, ConnectionLimiter } from '../../src/quotas/connection-limiter.js';
import { errorCode } from '../../src/quotas/errors.js';

const STEPS = [
  'open',
  'answered',
  'beginRead',
  'endRead',
  'beginWrite',
  'endWrite',
  'read',
  'close',
  'giveUp',
  'check',
] as const;
interface Step {
  readonly kind: (typeof STEPS)[number];
  /** Which of the connections or attempts, counted around. */
  readonly which: number;
}

/** One connection as the specification sees it. */
interface Modelled {
  readonly id: number;
  state: 'waiting' | 'open' | 'closed' | 'canceled' | 'given up';
  operations: number;
  isAnswered: boolean;
}

/** The specification's table as a minimal model. */
class Model {
  readonly all: Modelled[] = [];
  /** Open ones, the least recently used first. */
  byUse: Modelled[] = [];
  waiting: Modelled[] = [];

  constructor(readonly limit: number) {}

  open(): Modelled {
    const made: Modelled = { id: this.all.length, state: 'waiting', operations: 0, isAnswered: false };
    this.all.push(made);
    this.waiting.push(made);
    this.fill();
    return made;
  }

  fill(): void {
    while (this.byUse.length < this.limit) {
      const next = this.waiting.shift();
      if (next === undefined) return;
      next.state = 'open';
      next.operations = 1;
      this.byUse.push(next);
    }
  }

  use(connection: Modelled, change: number): void {
    if (connection.state !== 'open' || connection.operations + change < 0) return;
    connection.operations += change;
    this.byUse = [...this.byUse.filter(other => other !== connection), connection];
  }

  end(connection: Modelled, state: 'closed' | 'canceled'): void {
    if (connection.state !== 'open') return;
    connection.state = state;
    this.byUse = this.byUse.filter(other => other !== connection);
    this.fill();
  }

  check(): void {
    const isDeadlock = this.waiting.length > 0 && this.byUse.every(({ operations }) => operations === 0);
    const [leastRecentlyUsed] = this.byUse;
    if (isDeadlock && leastRecentlyUsed !== undefined) this.end(leastRecentlyUsed, 'canceled');
  }
}

/** The limiter with the attempts made on it, in the order in which they were made. */
class Driven {
  readonly limiter: ConnectionLimiter;
  readonly connections: (Connection | undefined)[] = [];
  readonly givingUp: AbortController[] = [];
  #check: (() => void) | undefined;

  constructor(limit: number) {
    this.limiter = new ConnectionLimiter({
      limit,
      schedule: check => {
        this.#check = check;
        return () => {
          this.#check = undefined;
        };
      },
    });
  }

  open(): void {
    const id = this.connections.length;
    const giveUp = new AbortController();
    this.givingUp.push(giveUp);
    this.connections.push(this.limiter.tryOpen());
    if (this.connections[id] !== undefined) return;
    this.limiter.open(giveUp.signal).then(
      connection => {
        this.connections[id] = connection;
      },
      () => {},
    );
  }

  check(): void {
    const check = this.#check;
    this.#check = undefined;
    check?.();
  }
}

function apply(step: Step, model: Model, driven: Driven): void {
  if (step.kind === 'open') {
    model.open();
    driven.open();
    return;
  }
  if (step.kind === 'check') {
    model.check();
    driven.check();
    return;
  }
  const modelled = model.all[step.which % Math.max(1, model.all.length)];
  if (modelled === undefined) return;
  const connection = driven.connections[modelled.id];
  switch (step.kind) {
    case 'giveUp':
      if (modelled.state === 'waiting') {
        modelled.state = 'given up';
        model.waiting = model.waiting.filter(other => other !== modelled);
      }
      driven.givingUp[modelled.id]?.abort();
      return;
    case 'close':
      model.end(modelled, 'closed');
      connection?.close();
      return;
    case 'answered':
      if (modelled.state === 'open' && !modelled.isAnswered) {
        modelled.isAnswered = true;
        model.use(modelled, -1);
      }
      break;
    case 'read':
      model.use(modelled, 1);
      model.use(modelled, -1);
      break;
    case 'beginRead':
    case 'beginWrite':
      model.use(modelled, 1);
      break;
    case 'endRead':
    case 'endWrite':
      model.use(modelled, -1);
      break;
  }
  try {
    if (step.kind === 'read') {
      connection?.beginRead();
      connection?.endRead();
    } else {
      connection?.[step.kind]();
    }
  } catch (error) {
    if (modelled.state !== 'canceled') throw error;
  }
}

test('the limiter opens, queues and cancels as the table of the specification says, in any order of events', async t => {
  // Deadlocks are rare among events of equal weight: answers, whole reads and checks come more often than the rest.
  const often = ['open', 'open', 'answered', 'answered', 'answered', 'read', 'read', 'check'] as const;
  const step = fc.record({ kind: fc.constantFrom(...STEPS, ...often), which: fc.nat({ max: 12 }) });
  const steps = fc.array(step, { minLength: 10, maxLength: 80 });
  const property = fc.asyncProperty(fc.integer({ min: 1, max: 4 }), steps, async (limit, sequence) => {
    const model = new Model(limit);
    const driven = new Driven(limit);
    for (const next of sequence) {
      apply(next, model, driven);
      // Slots are handed on within microtasks.
      await new Promise(resolve => setImmediate(resolve));
      const states = model.all.map(({ id, state }) => {
        const connection = driven.connections[id];
        const isCanceled = errorCode(connection?.error) === 'EDGE_CONNECTION_CANCELED';
        return { state, isOpened: connection !== undefined, isCanceled };
      });
      for (const { state, isOpened, isCanceled } of states) {
        if (isOpened !== (state !== 'waiting' && state !== 'given up')) throw new Error(`${state}, opened ${isOpened}`);
        if (isCanceled !== (state === 'canceled')) throw new Error(`${state}, canceled ${isCanceled}`);
      }
      if (driven.limiter.openCount !== model.byUse.length) throw new Error('another number is open');
      if (driven.limiter.waitingCount !== model.waiting.length) throw new Error('another number waits');
    }
    driven.limiter.close();
  });
  await fc.assert(property, { numRuns: 300 });
  t.pass();
});
