/** The invocation of a cron trigger. A promise of waitUntil that rejects fails it, as its handler does. */
import { Op } from '../../isolate/ops/table.ts';
import { describeFailure } from '../failure.ts';
import { GuestInvocation, notify } from './invocation.ts';

export class ScheduledInvocation extends GuestInvocation {
  #failure: string | undefined = undefined;
  #hasFailed = false;
  #isNoRetry = false;

  override waitFailed(error: unknown): void {
    if (this.#failure === undefined) this.#failure = describeFailure(error, 'EDGE_HANDLER_THREW');
    else super.waitFailed(error);
  }

  override failed(failure: string): void {
    this.#hasFailed = true;
    super.failed(failure);
  }

  noRetry(): void {
    if (!this.#isNoRetry) this.#isNoRetry = notify(Op.NoRetry, this.id);
  }

  protected override ending(): void {
    if (this.#failure !== undefined) {
      notify(this.#hasFailed ? Op.WaitRejected : Op.WaitFailed, this.id, this.#failure);
    }
  }
}
