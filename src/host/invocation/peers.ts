/**
 * The ends of calls between functions, and the objects that they pass by reference. An object stays in the realm of the invocation that has sent it;
 * others have numbers for it, which belong to their isolate and end with the invocation that got them.
 */
import type { IsolateHandle } from '../../pool/host/isolate-handle.js';
import { EdgeError } from '../../quotas/errors.js';
import type { SubrequestMeter } from '../../quotas/subrequest-meter.js';
import type { InvocationAddress } from '../backend/remote-caller.js';
import type { InvocationContext } from './invocation-context.js';
import { OpenResults } from './open-results.js';

/** Stubs that the functions of one isolate may hold. */
const MAX_STUBS = 10_000;
/** The size of a stub in the host's heap. */
const STUB_BYTES = 320;

/** An object that an invocation has sent. */
export class SharedObject {
  readonly owner: Peer;
  /** Its number in the realm of the owner. */
  readonly id: number;
  /** Stubs for it. */
  references = 0;

  constructor(owner: Peer, id: number) {
    this.owner = owner;
    this.id = id;
  }
}

interface Stub {
  readonly object: SharedObject;
  readonly holder: Peer;
}

class StubTable {
  readonly stubs = new Map<number, Stub>();
  #next = 1;

  add(stub: Stub): number {
    const number = this.#next++;
    this.stubs.set(number, stub);
    return number;
  }
}

const tables = new WeakMap<IsolateHandle, StubTable>();

function tableOf(isolate: IsolateHandle): StubTable {
  const known = tables.get(isolate) ?? new StubTable();
  tables.set(isolate, known);
  return known;
}

/** Where the calls of an invocation are counted: here, or in the backend process. */
export interface PeerAccounting {
  meter(): SubrequestMeter;
  announced(): InvocationAddress | undefined;
  /** The number of its exchange. */
  id(): number;
}

/** An open invocation as one end of calls. */
export class Peer {
  readonly context: InvocationContext;
  readonly isolate: IsolateHandle;
  readonly #accounting: PeerAccounting;
  readonly #table: StubTable;
  /** Numbers of the stubs that it holds. */
  readonly #held = new Set<number>();
  /** Objects that it has sent, by their numbers. */
  readonly #sent = new Map<number, SharedObject>();
  #isOver = false;
  /** Calls of its objects so far. */
  called = 0;
  #endings: (() => void)[] | undefined;
  #results: OpenResults<Peer> | undefined;

  constructor(context: InvocationContext, isolate: IsolateHandle, accounting: PeerAccounting) {
    this.context = context;
    this.isolate = isolate;
    this.#accounting = accounting;
    this.#table = tableOf(isolate);
  }

  /** Its subrequests: calls of its objects count to it too. */
  get meter(): SubrequestMeter {
    return this.#accounting.meter();
  }

  /** The same with a backend process, which is notified first when necessary. Undefined when no backend process is connected. */
  announced(): InvocationAddress | undefined {
    return this.#accounting.announced();
  }

  /** The number of the invocation in its isolate. */
  get id(): number {
    return this.#accounting.id();
  }

  /** The open results of the calls that it makes. */
  get results(): OpenResults<Peer> {
    this.#results ??= new OpenResults();
    return this.#results;
  }

  /** Whether its objects can be called no more. */
  get isOver(): boolean {
    return this.#isOver || !this.isolate.isUsable;
  }

  /** The object that it has sent under this number. An object that it sends after its end is not kept. */
  share(id: number): SharedObject {
    if (this.#isOver) return new SharedObject(this, id);
    const known = this.#sent.get(id);
    if (known !== undefined) return known;
    if (this.#sent.size >= MAX_STUBS) {
      throw new EdgeError(
        'EDGE_OVERLOADED',
        `Function "${this.context.function}" has passed ${MAX_STUBS} objects by reference`,
      );
    }
    const object = new SharedObject(this, id);
    this.#sent.set(id, object);
    this.context.share.bytes.countHeap(STUB_BYTES);
    return object;
  }

  /** The object of a stub that its isolate holds. @throws TypeError when the stub is no longer valid */
  find(number: number): SharedObject {
    const stub = this.#table.stubs.get(number);
    if (stub === undefined) throw new TypeError('The stub is no longer valid: the call that it came with is over');
    return stub.object;
  }

  /** Gives it a stub. @throws EdgeError EDGE_OVERLOADED */
  receive(object: SharedObject): number {
    if (this.#isOver) throw new EdgeError('EDGE_CANCELED', 'The invocation that called is over');
    if (this.#table.stubs.size >= MAX_STUBS) {
      throw new EdgeError(
        'EDGE_OVERLOADED',
        `Function "${this.context.function}" holds ${MAX_STUBS} stubs in one isolate: dispose of those that are done`,
      );
    }
    const number = this.#table.add({ object, holder: this });
    this.#held.add(number);
    object.references++;
    this.context.share.bytes.countHeap(STUB_BYTES);
    return number;
  }

  /** No stub refers to the object. */
  forget({ id }: SharedObject): void {
    if (this.#sent.delete(id)) this.context.share.bytes.countHeap(-STUB_BYTES);
  }

  /** Calls the listener when the invocation is over. */
  whenOver(listener: () => void): void {
    if (this.#isOver) listener();
    else {
      this.#endings ??= [];
      this.#endings.push(listener);
    }
  }

  /** It uses the stub no more. */
  release(number: number): void {
    if (!this.#held.delete(number)) return;
    const stub = this.#table.stubs.get(number);
    this.#table.stubs.delete(number);
    if (stub !== undefined && --stub.object.references === 0) stub.object.owner.forget(stub.object);
    this.context.share.bytes.countHeap(-STUB_BYTES);
  }

  /** The invocation is over. */
  close(): void {
    this.#isOver = true;
    for (const listener of this.#endings ?? []) listener();
    this.#endings = undefined;
    for (const number of [...this.#held]) this.release(number);
    for (const object of [...this.#sent.values()]) this.forget(object);
  }
}
