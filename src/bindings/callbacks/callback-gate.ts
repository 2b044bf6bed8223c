/** Counts the open callbacks of one account and the memory of their arguments. */
import { EdgeError } from '../../quotas/errors.js';
import { guarded } from '../../quotas/guarded.js';

/** A call is abandoned when it has timed out or its invocation has ended. This many times `concurrency` abandoned calls may be unsettled. */
const ABANDONED_FACTOR = 10;

/**
 * The heap memory that the arguments of open calls may take together; one call may always have its own. By default the host holds twice as much for an account,
 * so arguments alone do not stop it from reading the account's connections.
 */
const MAX_ARGUMENT_BYTES = 24 * 1024 * 1024;
/** How long a call waits for that. Callbacks that call functions may wait for each other. */
const MAX_WAIT_MS = 10_000;

interface Waiting {
  readonly bytes: number;
  readonly go: () => void;
}

export class CallbackGate {
  readonly #account: string;
  readonly #concurrency: number;
  readonly #maxWaitMs: number;
  /** Calls whose arguments are not decoded yet, in their order. */
  readonly #waiting = new Set<Waiting>();
  #argumentBytes = 0;
  #open = 0;
  #abandoned = 0;

  constructor(account: string, concurrency: number, maxWaitMs: number = MAX_WAIT_MS) {
    this.#account = account;
    this.#concurrency = concurrency;
    this.#maxWaitMs = maxWaitMs;
  }

  get isIdle(): boolean {
    return this.#open === 0 && this.#abandoned === 0;
  }

  /** @throws EdgeError EDGE_OVERLOADED */
  enter(): void {
    const most = this.#concurrency * ABANDONED_FACTOR;
    if (this.#open < this.#concurrency && this.#abandoned < most) {
      this.#open++;
      return;
    }
    const why =
      this.#open >= this.#concurrency
        ? `${this.#open} are under way (option callbacks.concurrency of the host)`
        : `${this.#abandoned} abandoned calls have not settled`;
    throw new EdgeError('EDGE_OVERLOADED', `Cannot call the application for account "${this.#account}": ${why}`);
  }

  leave(): void {
    this.#open--;
  }

  /**
   * Takes memory for arguments before they are decoded; undefined at once while there is some.
   * @throws EdgeError EDGE_OVERLOADED (as a rejection) when no room appears in time; the reason of the signal when it fires
   */
  takeBytes(bytes: number, signal: AbortSignal): Promise<void> | undefined {
    if (this.#waiting.size === 0 && this.#fits(bytes)) {
      this.#argumentBytes += bytes;
      return undefined;
    }
    return new Promise((resolve, reject) => {
      const stop = (error: unknown): void => {
        leave();
        reject(error);
        // The calls behind it may be smaller.
        this.#next();
      };
      const leave = (): void => {
        this.#waiting.delete(waiting);
        clearTimeout(timer);
        signal.removeEventListener('abort', onAbort);
      };
      const onAbort = guarded((): void => stop(signal.reason));
      const waiting: Waiting = {
        bytes,
        go: () => {
          leave();
          resolve();
        },
      };
      this.#waiting.add(waiting);
      const timer = setTimeout(
        guarded(() => {
          const why = `the arguments of its calls take ${this.#argumentBytes} bytes, and with ${bytes} more they would take more than ${MAX_ARGUMENT_BYTES}`;
          stop(new EdgeError('EDGE_OVERLOADED', `Cannot call the application for account "${this.#account}": ${why}`));
        }),
        this.#maxWaitMs,
      );
      signal.addEventListener('abort', onAbort, { once: true });
      if (signal.aborted) onAbort();
    });
  }

  giveBytes(bytes: number): void {
    this.#argumentBytes -= bytes;
    this.#next();
  }

  #fits(bytes: number): boolean {
    return this.#argumentBytes === 0 || this.#argumentBytes + bytes <= MAX_ARGUMENT_BYTES;
  }

  #next(): void {
    for (const { bytes, go } of this.#waiting) {
      if (!this.#fits(bytes)) return;
      this.#argumentBytes += bytes;
      go();
    }
  }

  /** The caller has stopped waiting, and the call has not settled. */
  abandon(): void {
    this.#open--;
    this.#abandoned++;
  }

  /** An abandoned call has settled. */
  settled(): void {
    this.#abandoned--;
  }
}
