/** The observers of the invocations of one account: tails of the application, and tail functions. */

import type { ServiceTarget } from '../../bindings/function/types.js';
import { HostOpens } from '../../protocol/messages.js';
import type { TailLead } from '../../protocol/run-setup.js';
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
  readonly #findCallee: (target: ServiceTarget) => FunctionRunner | undefined;
  readonly #tails = new Set<Tail>();
  readonly #deliveries = new Map<string, TailDelivery>();
  /** The version that serves under a name; undefined when no version serves. Set by the account, which is made after this. */
  find: (name: string) => FunctionRunner | undefined = () => undefined;

  /** @param findCallee the function of a service binding, if the account may call it */
  constructor(
    account: string,
    share: HostShare,
    warn: (error: Error) => void,
    findCallee: (target: ServiceTarget) => FunctionRunner | undefined = () => undefined,
  ) {
    this.#findCallee = findCallee;
    this.#account = account;
    this.#share = share;
    this.#warn = warn;
  }

  /**
   * The tails of one function.
   * @param names its tail functions
   * @param entrypoints services that watch code which was loaded
   */
  of(names: readonly string[], entrypoints: readonly ServiceTarget[] = []): InvocationTails {
    const tails = this.#tails;
    const watching = [...names.map(name => ({ function: name })), ...entrypoints];
    return {
      get isWatched() {
        return watching.length > 0 || tails.size > 0;
      },
      finished: invocation => this.#finished(invocation, watching),
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

  #finished(record: TracedInvocation, watching: readonly ServiceTarget[]): void {
    const began = performance.now();
    const item = traceItem(record);
    const json = JSON.stringify(item);
    for (const tail of this.#tails) tail.add(item, record.kind, json.length * 2);
    // A tail that is watched by another, or by itself, would never end.
    if (record.kind !== 'tail') {
      for (const target of watching) this.#delivery(target).add({ json, chain: record.start.chain });
    }
    this.#share.charge(performance.now() - began);
  }

  close(): void {
    for (const tail of this.#tails) tail.close();
    for (const delivery of this.#deliveries.values()) delivery.close();
    this.#deliveries.clear();
  }

  #delivery(target: ServiceTarget): TailDelivery {
    const { function: name, entrypoint, props } = target;
    const isPlain = entrypoint === undefined && props === undefined && target.account === undefined;
    const key = isPlain ? name : JSON.stringify(target);
    const known = this.#deliveries.get(key);
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
        const runner = isPlain ? this.find(name) : this.#findCallee(target);
        const missing =
          runner === undefined
            ? 'it is not loaded'
            : entrypoint !== undefined || runner.handlers.includes('tail')
              ? ''
              : 'it has no handler tail';
        if (missing !== '' && missing !== reported) report(missing);
        reported = missing;
        if (runner === undefined || missing !== '') return;
        const lead = isPlain ? '' : leadOf(target);
        await runToEnd(runner, HostOpens.Tail, lead + json, { chain });
      },
      countBytes: bytes => this.#share.bytes.countHeap(bytes),
      onDropped: report,
    });
    this.#deliveries.set(key, delivery);
    return delivery;
  }
}

function leadOf({ entrypoint, props }: ServiceTarget): string {
  const lead: TailLead = {
    ...(entrypoint !== undefined && { e: entrypoint }),
    ...(props !== undefined && { p: JSON.stringify(props) }),
  };
  return `${JSON.stringify(lead)}\n`;
}
