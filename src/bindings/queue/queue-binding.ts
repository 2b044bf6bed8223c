/** Queues as a binding: `env.JOBS` of a function, `account.queue('jobs')` of the application. */

import { EdgeError } from '../../quotas/errors.js';
import { objectOf, type Schema, union, wholeNumber } from '../../quotas/schema/schema.js';
import { ServiceId } from '../../quotas/service-calls.js';
import { lazyDirectory, openEngine } from '../account-engines.js';
import type { AccountContext, NamedBinding } from '../binding.js';
import { isInForce } from '../compatibility-flags.js';
import { errorRestorer, statusIn } from '../numeric-code.js';
import type { QueueDirectory, QueueEngine } from './broker.js';
import { QUEUE_CONTRACT } from './contract.js';
import { QUEUE_ERRORS, QueueError } from './errors.js';
import { type AccountQueue, hostQueue } from './host-queue.js';
import { QUEUE_LIMITS } from './limits.js';
import { queueService } from './service.js';
import { type QueueDirectories, queueDirectoriesOf } from './store/queue-directories.js';
import { queueStorage } from './store/queue-storage.js';
import { CONFIGURED_QUEUE } from './store/stored-queues.js';
import type { GuestQueueConfig } from './wire.js';

/** A queue that a function sends to. */
export interface QueueProducer {
  /** The name of the queue. It is made when it does not exist. */
  readonly queue: string;
  /** The delay of messages that name none, in seconds: from 0 to 43,200. @default the delay of the queue */
  readonly deliveryDelaySeconds?: number;
}

/** The queues of each account, in a storage that opens with their first use. */
export interface HostQueues {
  of(account: string): QueueDirectory;
  /** The account is gone: a later account of the same id starts empty. */
  forget(account: string): void;
  /** Gives up waiting for messages. */
  close(): void;
}

const MAX_BATCH_HEAD_BYTES = 32 * 1024;

/** The configuration is the name of a queue of the account, or that and how messages are sent. */
export const queueBinding: NamedBinding<string | QueueProducer, HostQueues, AccountQueue> = {
  id: ServiceId.Queue,
  name: 'queue',
  subrequest: 'queue',
  methods: {
    send: { holdsConnection: true },
    sendBatch: { holdsConnection: true, headBytes: MAX_BATCH_HEAD_BYTES },
  },
  option: 'queues',
  application: 'queue',
  toml: {
    table: 'queues.producers',
    nameKey: 'queue',
    more: { 'delivery_delay?': wholeNumber(0, QUEUE_LIMITS.delaySeconds, 'seconds') },
    nameSchema: CONFIGURED_QUEUE,
    configOf: (queue, { delivery_delay: deliveryDelaySeconds }) =>
      deliveryDelaySeconds === undefined ? queue : { queue, deliveryDelaySeconds },
  },
  managementType: 'queue',
  managementKey: 'queue_name',
  schema: union(
    [
      CONFIGURED_QUEUE,
      objectOf<QueueProducer>({
        queue: CONFIGURED_QUEUE,
        'deliveryDelaySeconds?': wholeNumber(0, QUEUE_LIMITS.delaySeconds, 'seconds'),
      }),
    ],
    { description: 'the name of a queue, or { queue, deliveryDelaySeconds }' },
  ) as Schema<string | QueueProducer>, // the union of both, which the type of union() loses for optional keys
  storage: queueStorage,
  directory: QUEUE_CONTRACT,
  share({ storage }) {
    let directories: QueueDirectories | undefined;
    let isClosed = false;
    const open = async (account: string): Promise<QueueDirectory> => {
      if (directories === undefined) {
        const { context } = await storage();
        directories ??= queueDirectoriesOf(context);
        if (isClosed) directories.close();
      }
      const { context } = await storage();
      const ended = context.sums.whenEnded(account);
      if (ended !== undefined) await ended;
      return directories.of(account);
    };
    return {
      of: account => lazyDirectory(QUEUE_CONTRACT, () => open(account)),
      forget: account =>
        directories?.forget(
          account,
          new EdgeError('EDGE_ACCOUNT_REMOVED', `Cannot use a queue of account "${account}": it was removed`),
        ),
      close() {
        isClosed = true;
        directories?.close();
      },
    };
  },
  open(context, config) {
    const { queue, deliveryDelaySeconds } = producerOf(config);
    return queueService(() => engineOf(context, queue), { deliveryDelaySeconds, bounds: context.limits });
  },
  guestConfig(_config, { date, flags }): GuestQueueConfig {
    return { contentType: isInForce('queues_json_messages', date, flags) ? 'json' : 'v8' };
  },
  endAccount: (shared, account) => shared.forget(account),
  async closeShared(shared) {
    shared.close();
  },
  async prepare(context, config) {
    await engineOf(context, producerOf(config).queue);
  },
  client(context, config) {
    const { queue, deliveryDelaySeconds } = producerOf(config);
    return hostQueue(
      queue,
      () => engineOf(context, queue),
      () => context.limits,
      deliveryDelaySeconds,
      context.work,
    );
  },
  errorFrom: errorRestorer(QUEUE_ERRORS, code => new QueueError('', code)),
  errorStatus: error => statusIn(QUEUE_ERRORS, error),
};

function producerOf(config: string | QueueProducer): QueueProducer {
  return typeof config === 'string' ? { queue: config } : config;
}

function engineOf(context: AccountContext<HostQueues>, name: string): Promise<QueueEngine> {
  context.check?.();
  return openEngine(context, queues => queues.open(name));
}
