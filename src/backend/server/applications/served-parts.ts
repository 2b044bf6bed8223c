/** Answers the calls of the remote forms that remote-part.ts makes, by the same contracts. There is one for each connection. */
import type { PartContract } from '../../../bindings/contract.js';
import { CRON_CONTRACT } from '../../../bindings/cron/contract.js';
import { ALARM_CONTRACT, OBJECT_CONTRACT } from '../../../bindings/objects/contract.js';
import { detached } from '../../../quotas/guarded.js';
import { COUNTS_CONTRACT, USAGE_CONTRACT } from '../../wire/shared-usage.js';
import { callMethod } from './call-method.js';
import type { ServedObjects } from './served-objects.js';

type Handler = (...args: readonly unknown[]) => unknown;

export class ServedParts {
  readonly #handlers = new Map<string, Handler>();
  /** The names under which parts keep something for the application of this connection, each with what ends that. */
  readonly #owned = new Map<string, () => Promise<void>>();

  constructor({ store, usage, counters }: ServedObjects) {
    this.#add('crons', CRON_CONTRACT, () => store.crons);
    // The object store is made when it is first used.
    this.#add('alarms', ALARM_CONTRACT, () => store.alarms);
    this.#add('objects', OBJECT_CONTRACT, () => store.objects);
    this.#add('usage', USAGE_CONTRACT, () => usage);
    this.#add('counts', COUNTS_CONTRACT, () => counters);
  }

  /** Undefined when no contract has the call. */
  find(name: string): Handler | undefined {
    return this.#handlers.get(name);
  }

  /** The connection is closed, and what the application ran under its names has ended with it. */
  close(): void {
    for (const leave of this.#owned.values()) detached(leave());
  }

  #add<Part extends object>(name: string, { methods }: PartContract<Part>, part: () => Part): void {
    for (const [method, { isOwned }] of Object.entries(methods)) {
      this.#handlers.set(`${name}.${method}`, (...args) => {
        if (isOwned === true) this.#own(name, part, String(args[0]));
        return callMethod(part(), method, args);
      });
    }
  }

  #own(name: string, part: () => object, owner: string): void {
    this.#owned.set(`${name}/${owner}`, async () => {
      try {
        await callMethod(part(), 'left', [owner]);
      } catch {
        // A part whose storage is closed has nothing to end.
      }
    });
  }
}
