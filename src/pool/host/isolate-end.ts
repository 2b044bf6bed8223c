/** How an isolate ends: the reason, which its cell may report after the connection has closed, and how its open invocations share the loss. */
import { guarded, guardedEach } from '../../quotas/guarded.js';
import type { InvocationPort } from './invocation-port.js';
import type { LossReason } from './isolate-loss.js';
import { parseUsage } from './isolate-messages.js';

/**
 * After its connection closed, how long to wait for the cell to say why: a thread that is out of memory closes it first, and then frees its heap,
 * which took more than 2 s on a busy machine.
 */
const REASON_WITHIN_MS = 10_000;

export class IsolateEnd {
  #gone: { readonly reason: LossReason; readonly detail: string } | undefined;
  /** Set while the connection is closed and the cell has not reported why. */
  #reasonTimer: NodeJS.Timeout | undefined;
  readonly #goneListeners: ((reason: LossReason, detail: string) => void)[] = [];
  readonly #waiting: (() => void)[] = [];
  #isReported = false;

  get isKnown(): boolean {
    return this.#gone !== undefined;
  }

  get isReported(): boolean {
    return this.#isReported;
  }

  get reason(): LossReason | undefined {
    return this.#gone?.reason;
  }

  get detail(): string | undefined {
    return this.#gone?.detail;
  }

  /** The first reason stays. */
  because(reason: LossReason, detail: string): void {
    this.#gone ??= { reason, detail };
  }

  /** Whatever else is reported, this is the reason. */
  brokeProtocol(detail: string): void {
    this.#gone = { reason: 'protocol', detail };
  }

  /** Waits for the reason, and calls `giveUp` when it was not reported in time. */
  awaitReason(giveUp: () => void, end: () => void): void {
    this.#reasonTimer ??= setTimeout(guarded(giveUp, end), REASON_WITHIN_MS);
  }

  /** Calls the listener once, when the isolate is gone and its invocations have been notified; at once if that is so already. */
  whenGone(listener: (reason: LossReason, detail: string) => void): void {
    if (this.#isReported) listener(this.#gone?.reason ?? 'exit', this.#gone?.detail ?? '');
    else this.#goneListeners.push(listener);
  }

  /** Calls the listener when the reason of the isolate's end is known, or was not reported in time. */
  whenReported(listener: () => void): void {
    if (this.#isReported) listener();
    else this.#waiting.push(listener);
  }

  /** False when the end was reported before. */
  begin(): boolean {
    if (this.#isReported) return false;
    this.#isReported = true;
    clearTimeout(this.#reasonTimer);
    return true;
  }

  /**
   * Notifies all, after `begin`.
   *
   * @param lost the open invocations
   * @param unaccountedMs CPU time that no invocation accounts for, divided among them
   */
  report(lost: readonly (readonly [id: number, port: InvocationPort])[], unaccountedMs: number): void {
    this.#gone ??= { reason: 'exit', detail: '' };
    const { reason, detail: text } = this.#gone;
    const { invocation, usage, detail } = parseUsage(text);
    const share = { cpuMs: Math.round(unaccountedMs / Math.max(1, lost.length)), memoryBytes: 0 };
    // A turn without invocation belongs to the start-up or, once there have been invocations, to work that one of them left behind: if only one is open, that
    // one.
    const isLeftBehind = reason === 'startup';
    // The other invocations of the isolate have not used up their own time or memory.
    const isShared = isLeftBehind || ((reason === 'cpu' || reason === 'memory') && invocation > 0);
    // All of them hear of it, also when one of them fails.
    guardedEach(lost, ([id, port]) => {
      if (id === invocation) port.onLost(reason, detail, usage);
      else if (isLeftBehind && lost.length === 1) port.onLost('cpu', detail, usage);
      else port.onLost(isShared ? 'bystander' : reason, detail, share);
    });
    guardedEach(this.#waiting, listener => listener());
    guardedEach(this.#goneListeners, listener => listener(reason, detail));
  }
}
