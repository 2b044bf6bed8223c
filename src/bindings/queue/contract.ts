/** How queues are used from another process. */
import { OWN_WORK } from '../../quotas/host/call-work.js';
import type { StorageBounds } from '../../storage/accounts/account-sum.js';
import { directoryContract, engineContract, NAMED_ENGINES } from '../contract.js';
import type { QueueDirectory, QueueEngine, QueueInfo } from './broker.js';
import { QueueError } from './errors.js';

const QUEUE = engineContract<QueueEngine, 'info', QueueInfo>({
  methods: {
    send: {
      work: 2,
      send: (messages, { method, bounds }) => [messages, { method, bounds: bounds && onlyBounds(bounds) }],
    },
    receive: {
      options: 0,
      // Messages that have been claimed by then go back.
      whenStopped: async (queue, messages) => {
        if (messages.length > 0) await queue.settle({ releases: messages.map(({ leaseId }) => leaseId) }, OWN_WORK);
      },
    },
    pull: {},
    settle: { work: 1 },
    metrics: { isSafe: true, work: 0 },
    backlog: { isSafe: true },
    change: { answer: 'state' },
    purge: { work: 0 },
  },
  state: queue => queue.info(),
  // It is as old as the last call that opened, found or changed the queue.
  local: opened => ({ info: () => opened.state }),
  missing: name => new QueueError('open', 10206, `there is no queue "${name.slice(0, 100)}"`),
  defaultWork: OWN_WORK,
});

export const QUEUE_CONTRACT = directoryContract<QueueDirectory>({
  methods: NAMED_ENGINES,
  engine: QUEUE,
});

/** The limits of an account have much else. */
function onlyBounds({ storageBytes, storageObjects, plan }: StorageBounds): StorageBounds {
  return { storageBytes, storageObjects, plan };
}
