/**
 * The share of the host that one account may use: bytes held, time of the host's threads, open invocations and descriptors. An account past
 * the bounds of bytes and time is not read from until it is below them again; when bytes cannot fall, the account's cell is ended.
 */
import { EdgeError } from '../errors.js';
import { guarded } from '../guarded.js';
import { AccountBytes, HostBytes, type HostBytesOptions } from './host-bytes.js';
import { AccountTime, HostTime } from './host-time.js';

/** The bounds of one account. */
export interface HostShareLimits {
  /** Bytes that the host holds because of the account. */
  readonly hostBytes: number;
  /** Invocations that are not over. */
  readonly openInvocations: number;
  /** Files and sockets that services have open for the account. */
  readonly openDescriptors: number;
  /** WebSockets of clients that stateful objects have accepted to sleep. @default without a bound */
  readonly sleepingWebSockets?: number;
}

/** The bounds of all accounts of one host together. */
export class HostBudget {
  readonly #bytes: HostBytes;

  constructor(options: HostBytesOptions) {
    this.#bytes = new HostBytes(options);
  }

  /** @param onStuck the account holds bytes that cannot fall: its cell must end, with this reason */
  share(account: string, limits: HostShareLimits, onStuck: (reason: string) => void): HostShare {
    return new HostShare(account, limits, this.#bytes, onStuck);
  }

  /** The bytes that all accounts hold. */
  get heldBytes(): number {
    return this.#bytes.heapBytes + this.#bytes.bufferBytes;
  }
}

/** The memory of an open invocation: its request and response, its exchange, its accounting (measured, Node 20.20). */
const INVOCATION_BYTES = 8 * 1024;

/**
 * An account that has moved this many bytes waits for the event loop before it moves more. Bodies from the network wait for it anyway. Bodies that a cell has
 * joined to each other are moved by promises alone, which would hold everything else up until they end.
 */
const ROUND_BYTES = 256 * 1024;
/** Bodies that continue in each round, with a chunk of up to 64 KiB each. */
const BODIES_A_ROUND = 4;

/** The main thread is one, however many hosts an application makes. */
const time = new HostTime();

export class HostShare {
  readonly account: string;
  readonly bytes: AccountBytes;
  readonly #time: AccountTime;
  readonly limits: HostShareLimits;
  /** Connections that are not read until {@link isOpen} holds again. */
  readonly #readers = new Set<() => void>();
  readonly #goOn = guarded((): void => this.#nextPiece());
  /** Bodies and other work that continues when the debt of time is paid. */
  readonly #waiting = new Set<() => void>();
  #invocations = 0;
  #descriptors = 0;
  #isClosed = false;
  /** Bytes moved since the event loop last ran. */
  #movedBytes = 0;
  /** Bodies that continue in the next rounds. */
  readonly #moving: (() => void)[] = [];
  #isRoundOver = false;
  readonly #newRound = guarded((): void => {
    this.#movedBytes = 0;
    for (const goOn of this.#moving.splice(0, BODIES_A_ROUND)) goOn();
    this.#isRoundOver = this.#moving.length > 0;
    if (this.#isRoundOver) setImmediate(this.#newRound);
  });

  /** Made by {@link HostBudget.share}. */
  constructor(account: string, limits: HostShareLimits, all: HostBytes, onStuck: (reason: string) => void) {
    this.account = account;
    this.limits = limits;
    const onChange = (): void => this.#changed();
    this.bytes = new AccountBytes(all, limits.hostBytes, onChange, held =>
      onStuck(`the host held ${held} bytes for it that did not fall (option hostBytes is ${limits.hostBytes})`),
    );
    this.#time = new AccountTime(time, onChange);
  }

  /** Whether what the account sends may be read now. */
  get isOpen(): boolean {
    return !this.bytes.isFull && !this.#time.isInDebt;
  }

  /** The account has used more time of the host than its share, while others are at work. */
  get isInDebt(): boolean {
    return this.#time.isInDebt;
  }

  /** Milliseconds of the host's processors that were charged to the account. */
  get spentMs(): number {
    return this.#time.spentMs;
  }

  /** Bodies of answers that the application has not read to their end. */
  unreadBodies = 0;

  /** It holds so much that no new work is accepted. */
  get isCrowded(): boolean {
    return this.bytes.isUnderPressure;
  }

  /** It holds half as much. */
  get isFilling(): boolean {
    return this.bytes.isUnderMemoryPressure;
  }

  get openInvocations(): number {
    return this.#invocations;
  }

  get openDescriptors(): number {
    return this.#descriptors;
  }

  /** Charges work of the host to the account, in milliseconds of a processor, on whichever thread it was done. */
  charge(ms: number, now?: number): void {
    this.#time.charge(ms, now);
  }

  /** Calls the listener once, when {@link isOpen} holds again. */
  whenOpen(listener: () => void): void {
    this.#readers.add(listener);
  }

  /** @see CallWork.room */
  room(): Promise<void> | undefined {
    if (!this.bytes.isFull || this.#isClosed) return undefined;
    return new Promise(resolve => this.whenOpen(resolve));
  }

  /** A chunk of a body was moved. Resolves when the next one may be: like {@link turn}, and when a round of the event loop has room for it. */
  moved(bytes: number): Promise<void> | undefined {
    this.#movedBytes += bytes;
    if (this.#movedBytes < ROUND_BYTES) return this.turn();
    if (!this.#isRoundOver) {
      this.#isRoundOver = true;
      setImmediate(this.#newRound);
    }
    return new Promise<void>(resolve => this.#moving.push(resolve)).then(() => this.turn());
  }

  /**
   * For work in steps: resolves when the account may do the next one, at once while it is not in debt. Bytes do not count here, because
   * moving chunks is what releases them. Resolves also when `signal` fires.
   */
  turn(signal?: AbortSignal): Promise<void> | undefined {
    if (!this.#time.isInDebt) return undefined;
    return new Promise(resolve => {
      const go = guarded((): void => {
        // Another step may have used up the earned time.
        if (this.#time.isInDebt && signal?.aborted !== true) {
          this.#waiting.add(go);
          return;
        }
        this.#waiting.delete(go);
        signal?.removeEventListener('abort', go);
        resolve();
      });
      this.#waiting.add(go);
      signal?.addEventListener('abort', go, { once: true });
    });
  }

  /** There is room for one more invocation. */
  get takesInvocation(): boolean {
    return this.#invocations < this.limits.openInvocations && !this.bytes.isUnderPressure;
  }

  /** @throws EdgeError EDGE_OVERLOADED when there is no room for one more invocation */
  checkInvocation(): void {
    if (this.takesInvocation) return;
    const { openInvocations, hostBytes } = this.limits;
    const why =
      this.#invocations >= openInvocations
        ? `${this.#invocations} are open, option openInvocations is ${openInvocations}`
        : `the host holds ${this.bytes.held} bytes for it, option hostBytes is ${hostBytes}${this.#unread}`;
    throw new EdgeError('EDGE_OVERLOADED', `Cannot begin an invocation of account "${this.account}": ${why}`);
  }

  get #unread(): string {
    if (this.unreadBodies === 0) return '';
    return `; the application has not read ${this.unreadBodies} of its bodies: read or cancel them`;
  }

  beginInvocation(): void {
    this.#invocations++;
    this.bytes.countHeap(INVOCATION_BYTES);
  }

  endInvocation(): void {
    this.#invocations--;
    this.bytes.countHeap(-INVOCATION_BYTES);
  }

  /** An invocation that waits for its isolate is open, and its bytes are held. Returns what ends that. */
  holdWaiting(heldBytes: number): () => void {
    this.bytes.countHeap(heldBytes);
    this.beginInvocation();
    return () => {
      this.bytes.countHeap(-heldBytes);
      this.endInvocation();
    };
  }

  /** Counts a file or socket that is about to be opened. @throws EdgeError EDGE_OVERLOADED when the account has as many as it may */
  openDescriptor(): void {
    const { openDescriptors } = this.limits;
    if (this.#descriptors >= openDescriptors) {
      throw new EdgeError(
        'EDGE_OVERLOADED',
        `Cannot open a file or socket for account "${this.account}": ${this.#descriptors} are open, option openDescriptors is ${openDescriptors}`,
      );
    }
    this.#descriptors++;
  }

  closeDescriptor(): void {
    this.#descriptors--;
  }

  /** The account is closed: nothing waits any more. */
  close(): void {
    this.#isClosed = true;
    this.#time.close();
    this.bytes.close();
    wake(this.#waiting);
    wake(this.#readers);
  }

  /** Moving chunks releases bytes, so it continues while the bound of bytes keeps the connections from being read. */
  #changed(): void {
    if (this.#time.isInDebt) return;
    this.#nextPiece();
    if (this.isOpen) wake(this.#readers);
  }

  /** One in each round of the event loop: it is charged before the next may begin. */
  #nextPiece(): void {
    const [next] = this.#waiting;
    if (next === undefined || this.#time.isInDebt) return;
    this.#waiting.delete(next);
    next();
    if (this.#waiting.size > 0) setImmediate(this.#goOn);
  }
}

function wake(waiting: Set<() => void>): void {
  if (waiting.size === 0) return;
  const listeners = [...waiting];
  waiting.clear();
  for (const listener of listeners) listener();
}
