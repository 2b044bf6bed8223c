/** The state that the ops of an isolate share: the invocation whose turn it is, bytes for the guest, asynchronous work and its cost. */

import type { OpenInvocations } from './invocations/open-invocations.js';
import type { IsolateParts } from './isolate-parts.js';
import { OpError } from './ops/arguments.js';
import type { BasicsOwner } from './ops/basics.js';
import type { RandomSource } from './ops/random-source.js';
import { Ev } from './ops/table.js';
import type { SourcePlace } from './stacks/source-places.js';

/** The most pending async ops of one isolate; one more is an error in the guest. */
const MAX_PENDING_OPS = 4096;

export class IsolateContext implements BasicsOwner {
  readonly #parts: IsolateParts;
  readonly #invocations: OpenInvocations;
  keyedRandom: RandomSource | undefined;
  #left: Uint8Array | undefined;
  #pendingOps = 0;
  #nextOp = 1;

  constructor(parts: IsolateParts, invocations: OpenInvocations) {
    this.#parts = parts;
    this.#invocations = invocations;
  }

  get pendingOps(): number {
    return this.#pendingOps;
  }

  placeOf(place: SourcePlace): SourcePlace {
    return this.#parts.modules?.places.find(place) ?? place;
  }

  currentInvocation(): number {
    return this.#parts.turns.current;
  }

  leaveBytes(bytes: Uint8Array): number {
    this.#left = bytes;
    return bytes.length;
  }

  begin(work: Promise<number | string | undefined | Uint8Array>): number {
    if (this.#pendingOps >= MAX_PENDING_OPS) {
      work.catch(() => {});
      throw new OpError('Error', `More than ${MAX_PENDING_OPS} operations are pending`);
    }
    const invocation = this.currentInvocation();
    const serial = this.#parts.turns.held.begin();
    const id = this.#nextOp++;
    this.#pendingOps++;
    work.then(
      value => {
        this.#pendingOps--;
        if (value instanceof Uint8Array) {
          const before = (): boolean => this.leaveBytes(value) >= 0;
          this.#parts.turns.push(invocation, [Ev.Settle, id, 1, undefined, value.length], before, serial);
        } else {
          this.#parts.turns.push(invocation, [Ev.Settle, id, 1, value, -1], undefined, serial);
        }
      },
      (error: unknown) => {
        this.#pendingOps--;
        const text =
          error instanceof OpError
            ? `${error.name}\n${error.message}\n${error.code}`
            : 'OperationError\nThe operation failed\n';
        this.#parts.turns.push(invocation, [Ev.Settle, id, 0, text, -1], undefined, serial);
      },
    );
    return id;
  }

  charge(cpuMs: number): void {
    const id = this.currentInvocation();
    if (this.#parts.meter.charge(id, cpuMs)) return;
    // At once, since the function could answer with the error before its turn ends.
    this.#invocations.onCpuSpent(id, cpuMs);
    throw new OpError('OperationError', 'The CPU time that is left does not suffice for the operation');
  }

  settle(invocation: number, cpuMs: number): void {
    this.#parts.meter.settle(invocation, cpuMs);
  }

  hold(bytes: number): void {
    this.#parts.meter.hold(bytes);
  }

  reserve(bytes: number): void {
    if (!this.#parts.meter.hasRoom(bytes)) {
      throw new OpError(
        'RangeError',
        `The memory that is left does not suffice for ${bytes} bytes`,
        'ERR_OUT_OF_MEMORY',
      );
    }
    this.#parts.meter.hold(bytes);
  }

  room(): number {
    return this.#parts.meter.roomBytes();
  }

  log(level: number, text: string): void {
    this.#invocations.log(level, text);
  }

  takeBytes(): Uint8Array | undefined {
    const bytes = this.#left;
    this.#left = undefined;
    return bytes;
  }
}
