/** Tells the backend process the host names that functions answer: a little after they change, since many functions may be loaded in a row. */

import { ApplicationSignal } from '../../backend/wire/messages.js';
import type { ServedNamesList } from '../../backend/wire/served-names.js';
import { guarded } from '../../quotas/guarded.js';
import type { ControlConnection } from './control-connection.js';

const NAMES_AFTER_MS = 50;

export class NamesReport {
  readonly #control: ControlConnection;
  readonly #names: () => ServedNamesList;
  /** Set while the backend process does not know the names. */
  #timer: NodeJS.Timeout | undefined;

  constructor(control: ControlConnection, names: () => ServedNamesList) {
    this.#control = control;
    this.#names = names;
  }

  changed(): void {
    this.#timer ??= setTimeout(this.send, NAMES_AFTER_MS).unref();
  }

  /** Called before an invocation begins, which may fetch one of the names. */
  sendPending(): void {
    if (this.#timer !== undefined) this.send();
  }

  readonly send = guarded(
    (): void => {
      clearTimeout(this.#timer);
      this.#timer = undefined;
      this.#control.current?.signal(0, ApplicationSignal.Names, JSON.stringify(this.#names()));
    },
    // Another one has everything sent again.
    () => this.#control.current?.close(),
  );

  stop(): void {
    clearTimeout(this.#timer);
  }
}
