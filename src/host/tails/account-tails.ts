/** The observers of the invocations of one account: tails of the application, and tail functions. */

import { HostOpens } from '../../protocol/messages.js';
import { EdgeError } from '../../quotas/errors.js';
import type { HostShare } from '../../quotas/host/host-share.js';
import type { FunctionRunner } from '../invocation/function-runner.js';
import type { InvocationTails } from '../invocation/invocation-context.js';
import { type TracedInvocation, traceItem } from '../invocation/reports/trace-item.js';
import { runToEnd } from '../invocation/run-to-end.js';
import { Tail } from './tail.js';
import { TailDelivery } from './tail-delivery.js';
import type { TailFilter } from './tail-filter.js';

/** Each holds its unread items. */
const MAX_TAILS = 10;
/** Names of tail functions beyond which those that nothing waits for are forgotten. */
const MAX_KNOWN = 100;

export class AccountTails {
  readonly #account: string;
  readonly #share: HostShare;
  readonly #warn: (error: Error) => void;
  readonly #tails = new Set<Tail>();
  readonly #deliveries = new Map<string, TailDelivery>();
  /** The version that serves under a name; undefined when no version serves. Set by the account, which is made after this. */
  find: (name: string) => FunctionRunner | undefined = () => undefined;

  constructor(account: string, share: HostShare, warn: (error: Error) => void) {
    this.#account = account;
    this.#share = share;
    this.#warn = warn;
  }

  /** The tails of one function. @param names its tail functions */
  of(names: readonly string[]): InvocationTails {
    const tails = this.#tails;
    return {
      get isWatched() {
        return names.length > 0 || tails.size > 0;
      },
      finished: invocation => this.#finished(invocation, names),
    };
  }

  /** Names of tail functions that something is known of. */
  get knownFunctions(): number {
    return this.#deliveries.size;
  }

  /** @throws EdgeError EDGE_OVERLOADED */
  open(filter: TailFilter): Tail {
    if (this.#tails.size >= MAX_TAILS) {
      throw new EdgeError(
        'EDGE_OVERLOADED',
        `Cannot tail account "${this.#account}": ${MAX_TAILS} tails are open, close one`,
      );
    }
    const tail = new Tail(filter, {
      countBytes: bytes => this.#share.bytes.countHeap(bytes),
      closed: closed => this.#tails.delete(closed),
    });
    this.#tails.add(tail);
    return tail;
  }

  #finished(record: TracedInvocation, names: readonly string[]): void {
    const began = performance.now();
    const item = traceItem(record);
    const json = JSON.stringify(item);
    for (const tail of this.#tails) tail.add(item, record.kind, json.length * 2);
    // A tail that is watched by another, or by itself, would never end.
    if (record.kind !== 'tail') {
      for (const name of names) this.#delivery(name).add({ json, chain: record.start.chain });
    }
    this.#share.charge(performance.now() - began);
  }

  close(): void {
    for (const tail of this.#tails) tail.close();
    for (const delivery of this.#deliveries.values()) delivery.close();
    this.#deliveries.clear();
  }

  #delivery(name: string): TailDelivery {
    const known = this.#deliveries.get(name);
    if (known !== undefined) return known;
    if (this.#deliveries.size >= MAX_KNOWN) {
      for (const [other, { isIdle }] of this.#deliveries) if (isIdle) this.#deliveries.delete(other);
    }
    const report = (why: string): void =>
      this.#warn(
        new EdgeError('EDGE_OVERLOADED', `Tail function "${name}" of account "${this.#account}" misses events: ${why}`),
      );
    let reported = '';
    const delivery = new TailDelivery({
      run: async (json, chain) => {
        const runner = this.find(name);
        const missing =
          runner === undefined ? 'it is not loaded' : runner.handlers.includes('tail') ? '' : 'it has no handler tail';
        if (missing !== '' && missing !== reported) report(missing);
        reported = missing;
        if (runner === undefined || missing !== '') return;
        await runToEnd(runner, HostOpens.Tail, json, { chain });
      },
      countBytes: bytes => this.#share.bytes.countHeap(bytes),
      onDropped: report,
    });
    this.#deliveries.set(name, delivery);
    return delivery;
  }
}
