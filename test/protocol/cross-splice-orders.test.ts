/** Frames of a body that travel on two connections, in every order: the table at the top of cross-splice.ts, row by row, and then all of it at once. */
import test from 'ava';
import fc from 'fast-check';
import { FIRST_WINDOW_BYTES, WINDOW_BYTES } from '../../src/protocol/bodies/body-owner.js';
import { type Direction, ThreeProcesses, WIRES, type WireName } from './three-processes.js';

/** Bytes of which each says where it stands. */
const PATTERN = Buffer.from(Uint8Array.from({ length: 4 * WINDOW_BYTES + FIRST_WINDOW_BYTES }, (_, at) => at % 251));
const DIRECTIONS: readonly Direction[] = ['upload', 'download'];
/** More than the first window, so that the rest is spliced across. */
const LONG_BYTES = FIRST_WINDOW_BYTES + 5000;

/** The writer and the reader of a body, each as fast as it may. */
class Transfer {
  readonly processes: ThreeProcesses;
  readonly bytes: Buffer;
  readonly #read: Buffer[] = [];
  #written = 0;

  constructor(direction: Direction, length: number) {
    this.processes = new ThreeProcesses(direction);
    this.bytes = PATTERN.subarray(0, length);
  }

  /** Answers whether the source has taken something. */
  write(pieceBytes = 16_384): boolean {
    const before = this.#written;
    this.#written = this.processes.write(this.bytes, before, pieceBytes);
    return this.#written > before;
  }

  read(maxBytes = 1 << 20): void {
    const { target } = this.processes;
    for (let chunk = target.read(maxBytes); chunk !== undefined; chunk = target.read(maxBytes)) this.#read.push(chunk);
  }

  run(held: readonly WireName[] = []): void {
    this.processes.carryAll(held, () => {
      while (this.write());
      this.read();
    });
  }

  get received(): Buffer {
    return Buffer.concat(this.#read);
  }

  get isWhole(): boolean {
    return this.processes.target.incoming === 'ended' && this.received.equals(this.bytes);
  }
}

for (const direction of DIRECTIONS) {
  test(`${direction}: the end that the isolate sends does not end a body whose rest is on its way`, t => {
    const transfer = new Transfer(direction, LONG_BYTES);
    transfer.run(['senderToReceiver']);
    t.is(transfer.processes.target.incoming, 'open');
    t.true(transfer.received.length < LONG_BYTES);
    transfer.run();
    t.true(transfer.isWhole);
    t.deepEqual(transfer.processes.errors, []);
  });

  test(`${direction}: the rest of a body waits for what the isolate has passed on before`, t => {
    const transfer = new Transfer(direction, LONG_BYTES);
    transfer.run(['isolateToReceiver']);
    t.is(transfer.received.length, 0);
    transfer.run();
    t.true(transfer.isWhole);
    t.deepEqual(transfer.processes.errors, []);
  });

  test(`${direction}: a body is on its way for as long as its rest is`, t => {
    const transfer = new Transfer(direction, LONG_BYTES);
    const { processes } = transfer;
    transfer.run(['senderToReceiver']);
    t.true(processes.receiving.has(processes.target.id));
    transfer.run();
    t.false(processes.receiving.has(processes.target.id));
    t.deepEqual(processes.over, [processes.target.id]);
  });

  for (const late of ['senderToReceiver', 'isolateToReceiver'] as const) {
    test(`${direction}: a body that is not sent to its end fails when ${late} is the slower wire`, t => {
      const transfer = new Transfer(direction, 2 * WINDOW_BYTES);
      const { processes } = transfer;
      for (let round = 0; round < 8; round++) {
        transfer.write();
        for (const name of WIRES) if (name !== late) while (processes.carry(name));
      }
      processes.source.fail('broken');
      transfer.run([late]);
      transfer.run();
      t.is(processes.target.incoming, 'failed');
      t.false(processes.receiving.has(processes.target.id));
      t.deepEqual(processes.errors, []);
    });

    test(`${direction}: a reader that stops while ${late} is the slower wire leaves nothing behind`, t => {
      const transfer = new Transfer(direction, LONG_BYTES);
      const { processes } = transfer;
      transfer.run([late]);
      processes.target.stopReading('enough');
      transfer.run();
      t.true(processes.source.isOutgoingOver);
      t.false(processes.receiving.has(processes.target.id));
      t.deepEqual(processes.errors, []);
    });

    test(`${direction}: a body fails when the processes lose each other while ${late} is the slower wire`, t => {
      const transfer = new Transfer(direction, LONG_BYTES);
      const { processes } = transfer;
      transfer.run([late]);
      processes.cut();
      transfer.run();
      t.is(processes.target.incoming, 'failed');
      t.false(processes.receiving.has(processes.target.id));
      t.deepEqual(processes.errors, []);
    });
  }
}

interface Step {
  readonly kind: 'carry' | 'write' | 'read';
  readonly wire: WireName;
  readonly bytes: number;
}

const AROUND_WINDOWS = fc
  .tuple(
    fc.constantFrom(FIRST_WINDOW_BYTES / 2, FIRST_WINDOW_BYTES, WINDOW_BYTES),
    fc.nat(4),
    fc.integer({ min: -2, max: 2 }),
  )
  .map(([window, count, delta]) => Math.max(1, window * count + delta));
const LENGTHS = fc.oneof(AROUND_WINDOWS, fc.integer({ min: 1, max: 4 * WINDOW_BYTES }));
const PIECES = fc.constantFrom(1000, 16_384, 32_768, 65_536, 100_000);
const STEPS = fc.array(
  fc.record<Step>({
    kind: fc.constantFrom('carry', 'carry', 'carry', 'write', 'read'),
    wire: fc.constantFrom(...WIRES),
    bytes: PIECES,
  }),
  { maxLength: 60 },
);

/** Wires that are slower than all others, one set after the other. */
const DELAYS = fc.array(fc.subarray([...WIRES], { maxLength: 2 }), { maxLength: 3 });
const ORDERS = fc.tuple(STEPS, DELAYS);

function play(transfer: Transfer, [steps, delays]: readonly [readonly Step[], readonly WireName[][]]): void {
  for (const { kind, wire, bytes } of steps) {
    if (kind === 'carry') transfer.processes.carry(wire);
    else if (kind === 'write') transfer.write(bytes);
    else transfer.read(bytes);
  }
  for (const held of delays) transfer.run(held);
}

test('a body that an isolate passes on is whole, whatever its length, its pieces and the order of its frames are', t => {
  const property = fc.property(fc.constantFrom(...DIRECTIONS), LENGTHS, ORDERS, (direction, length, order) => {
    const transfer = new Transfer(direction, length);
    play(transfer, order);
    transfer.run();
    const { errors, receiving, target } = transfer.processes;
    return errors.length === 0 && transfer.isWhole && !receiving.has(target.id);
  });
  t.notThrows(() => fc.assert(property, { numRuns: 300 }));
});

const WAYS = fc.constantFrom('fail', 'stop', 'abort', 'cut');

function end({ processes }: Transfer, way: string): void {
  if (way === 'fail') processes.source.fail('broken');
  else if (way === 'stop') processes.target.stopReading('enough');
  else if (way === 'abort') processes.abort();
  else processes.cut();
}

test('a body that fails, is given up or loses a process is never taken for a whole one, in any order of its frames', t => {
  const cases = [fc.constantFrom(...DIRECTIONS), LENGTHS, ORDERS, WAYS, ORDERS] as const;
  const property = fc.property(...cases, (direction, length, before, way, after) => {
    const transfer = new Transfer(direction, length);
    const { processes } = transfer;
    play(transfer, before);
    end(transfer, way);
    play(transfer, after);
    transfer.run();
    const { errors, receiving, target } = processes;
    const isOver = target.incoming !== 'open' && !receiving.has(target.id);
    // One whose reader has stopped looks as if it had ended.
    const isTakenForWhole = way !== 'stop' && target.incoming === 'ended';
    return errors.length === 0 && isOver && (!isTakenForWhole || transfer.isWhole);
  });
  t.notThrows(() => fc.assert(property, { numRuns: 300 }));
});
