/** The queues of accounts whose storage is in the services process. A name is that of the queue which has it when a call is made. */
import type {
  ClaimedMessage,
  OutgoingMessage,
  PullRequest,
  QueueDirectory,
  QueueEngine,
  QueueInfo,
  QueueMetrics,
  QueueSettings,
  ReceiveRequest,
  SettleRequest,
  SettleResult,
} from '../../bindings/queue/broker.js';
import { guarded } from '../../quotas/guarded.js';
import { type CallWork, OWN_WORK } from '../../quotas/host/call-work.js';
import { HOST_COSTS } from '../../quotas/host/host-costs.js';
import type { StorageBounds } from '../../storage/accounts/account-sum.js';
import type { NamedAddress } from './calls.js';
import type { RemoteLink } from './remote-link.js';

let lastReceipt = 0;

export function remoteQueues(link: RemoteLink, account: string): QueueDirectory {
  const at = (name: string): NamedAddress => ({ account, name });
  const queue = (name: string, info: QueueInfo): QueueEngine => new RemoteQueue(link, at(name), info);
  return {
    open: async name => queue(name, await link.call('queue.open', at(name))),
    find: async name => {
      const info = await link.call('queue.find', at(name));
      return info === null ? null : queue(name, info);
    },
    create: async (name, settings = {}) => ({ created: await link.call('queue.create', at(name), settings) }),
    delete: name => link.call('queue.remove', at(name)),
    list: () => link.call('queue.list', account),
  };
}

class RemoteQueue implements QueueEngine {
  readonly #link: RemoteLink;
  readonly #address: NamedAddress;
  #info: QueueInfo;

  constructor(link: RemoteLink, address: NamedAddress, info: QueueInfo) {
    this.#link = link;
    this.#address = address;
    this.#info = info;
  }

  send(
    messages: readonly OutgoingMessage[],
    { method, bounds }: { readonly method: string; readonly bounds?: StorageBounds | undefined },
    work: CallWork,
  ): Promise<readonly string[]> {
    work.charge(HOST_COSTS.callMs);
    return this.#link.call('queue.send', this.#address, messages, { method, bounds: bounds && onlyBounds(bounds) });
  }

  async receive({ signal, ...request }: ReceiveRequest): Promise<readonly ClaimedMessage[]> {
    signal.throwIfAborted();
    const receipt = ++lastReceipt;
    // What has been claimed by then comes all the same, and goes back.
    const stop = guarded((): void => void this.#link.call('queue.stopReceiving', receipt).catch(() => {}));
    signal.addEventListener('abort', stop, { once: true });
    try {
      const messages = await this.#link.call('queue.receive', this.#address, receipt, request);
      if (!signal.aborted) return messages;
      if (messages.length > 0) await this.settle({ releases: messages.map(({ leaseId }) => leaseId) }, OWN_WORK);
      throw signal.reason;
    } finally {
      signal.removeEventListener('abort', stop);
    }
  }

  pull(request: PullRequest): Promise<readonly ClaimedMessage[]> {
    return this.#link.call('queue.pull', this.#address, request);
  }

  settle(request: SettleRequest, work: CallWork): Promise<SettleResult> {
    work.charge(HOST_COSTS.callMs);
    return this.#link.call('queue.settle', this.#address, request);
  }

  metrics(work: CallWork): Promise<QueueMetrics> {
    work.charge(HOST_COSTS.callMs);
    return this.#link.call('queue.metrics', this.#address);
  }

  backlog(): Promise<Omit<QueueMetrics, 'oldestMessageTimestamp'>> {
    return this.#link.call('queue.backlog', this.#address);
  }

  /** As of when it was opened, found or changed. */
  info(): QueueInfo {
    return this.#info;
  }

  async change(settings: Partial<QueueSettings>): Promise<QueueInfo> {
    this.#info = await this.#link.call('queue.change', this.#address, settings);
    return this.#info;
  }

  purge(work: CallWork): Promise<number> {
    work.charge(HOST_COSTS.callMs);
    return this.#link.call('queue.purge', this.#address);
  }
}

/** The limits of an account have much else. */
function onlyBounds({ storageBytes, storageObjects, plan }: StorageBounds): StorageBounds {
  return { storageBytes, storageObjects, plan };
}
