/**
 * Reports of the backend process about itself to all of its applications, which have the `warning` events and the health checks. Warnings from a time without
 * applications go to the first one that connects.
 */
import type { EdgeError } from '../../quotas/errors.js';
import type { Notice } from '../wire/message-contents.js';
import { BackendSignal } from '../wire/messages.js';

/** The part of a channel that this needs. */
export interface NoticeTarget {
  signal(id: number, kind: number, payload: string): void;
}

/** The oldest are dropped when there are more and no application has come. */
const MAX_UNTOLD = 16;

export class Notices {
  readonly #targets = new Set<NoticeTarget>();
  readonly #untold: Notice[] = [];
  #sqlSandbox: unknown;

  readonly warn = ({ code, message }: EdgeError): void => {
    const notice = { warning: { code, message } };
    if (this.#targets.size > 0) {
      this.#tell(notice);
      return;
    }
    this.#untold.push(notice);
    if (this.#untold.length > MAX_UNTOLD) this.#untold.shift();
  };

  /** The layers around the engines of SQL: for all applications, also those that come later. */
  readonly setSqlSandbox = (sqlSandbox: unknown): void => {
    this.#sqlSandbox = sqlSandbox;
    this.#tell({ sqlSandbox });
  };

  add(target: NoticeTarget): void {
    this.#targets.add(target);
    if (this.#sqlSandbox !== undefined) send(target, { sqlSandbox: this.#sqlSandbox });
    for (const notice of this.#untold.splice(0)) send(target, notice);
  }

  delete(target: NoticeTarget): void {
    this.#targets.delete(target);
  }

  #tell(notice: Notice): void {
    for (const target of this.#targets) send(target, notice);
  }
}

function send(target: NoticeTarget, notice: Notice): void {
  target.signal(0, BackendSignal.Notice, JSON.stringify(notice));
}
