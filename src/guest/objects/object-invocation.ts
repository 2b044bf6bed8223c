/** The invocations of events of stateful objects, and of calls of what objects have sent by reference. */
import { Op } from '../../isolate/ops/table.ts';
import { op } from '../bridge.ts';
import { GuestInvocation } from '../events/invocation.ts';
import { forgetResumed } from '../events/resume.ts';
import { stopSending } from '../host-body.ts';
import { ErrorCtor } from '../primordials.ts';
import { loseLink } from '../websockets/host-link.ts';
import type { GuestLiveObject, ObjectEvent } from './live-object.ts';

export class ObjectInvocation extends GuestInvocation {
  object: GuestLiveObject | undefined = undefined;
  event: ObjectEvent | undefined = undefined;
  /** It was answered, or has failed. */
  isAnswered = false;
  /** More of its answer follows. */
  isStreaming = false;

  // Other calls may have waited to continue on its result: it is known until the host has closed it.
  protected override get staysKnown(): boolean {
    return true;
  }

  /** An event of an object continues when its client is gone: others rely on its work. */
  override abandon(): void {}

  override socketLost(): void {
    this.endTask();
  }

  /** The object was reset: the rest of its answer does not leave. */
  cutOff(): void {
    if (!this.isStreaming || this.tasks === 0) return;
    this.isStreaming = false;
    const reason = 'The object was reset';
    try {
      op(Op.BodyFail, this.id, reason);
    } catch {
      // It has ended.
    }
    if (!loseLink(this.id, reason)) stopSending(this.id, new ErrorCtor(reason));
  }

  override failed(failure: string): void {
    if (this.isAnswered) return;
    this.isAnswered = true;
    super.failed(failure);
  }

  override closed(): void {
    forgetResumed(this.id);
    const { object, event } = this;
    if (object === undefined || event === undefined) return;
    if (this.isAnswered) object.ended(event);
    else {
      this.isAnswered = true;
      object.gone(event);
      object.reset(new ErrorCtor('The object was reset: an event of it was ended before it was done'));
    }
  }
}

/** A call of what an object has sent by reference. */
export class TargetInvocation extends ObjectInvocation {
  protected override get staysKnown(): boolean {
    return false;
  }

  protected override ending(): void {
    if (this.event !== undefined) this.object?.ended(this.event);
  }

  override closed(): void {
    forgetResumed(this.id);
    this.isAnswered = true;
    if (this.event !== undefined) this.object?.gone(this.event);
  }
}
