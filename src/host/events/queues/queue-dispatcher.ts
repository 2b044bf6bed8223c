/** The consumers of all queues of a host. */
import type { QueueDirectory } from '../../../bindings/queue/broker.js';
import type { ResolvedConsumer } from '../../../config-schema/consumer-shapes.js';
import { EdgeError } from '../../../quotas/errors.js';
import { detached } from '../../../quotas/guarded.js';
import { OWN_WORK } from '../../../quotas/host/call-work.js';
import type { HostShare } from '../../../quotas/host/host-share.js';
import type { FunctionRunner } from '../../invocation/function-runner.js';
import { QueueConsumer } from './queue-consumer.js';

export interface QueueDispatcherParts {
  readonly queues: (account: string) => QueueDirectory;
  readonly warn: (error: unknown) => void;
}

/** The function that consumes queues. */
export interface ConsumingFunction {
  readonly account: string;
  readonly name: string;
  readonly share: HostShare;
  readonly runner: () => FunctionRunner;
}

export class QueueDispatcher {
  readonly #parts: QueueDispatcherParts;
  /** The functions that have one, by "account/queue". */
  readonly #consumers = new Map<string, { readonly name: string; readonly consumer: QueueConsumer }>();
  /** All consumers with open batches, including stopped ones. */
  readonly #alive = new Set<QueueConsumer>();
  #isClosing = false;

  constructor(parts: QueueDispatcherParts) {
    this.#parts = parts;
  }

  /** The function that consumes the queue. */
  consumerOf(account: string, queue: string): string | undefined {
    return this.#consumers.get(keyOf(account, queue))?.name;
  }

  /**
   * @throws EdgeError EDGE_LIMIT_EXCEEDED when another function consumes one of the queues: a queue has one consumer; EDGE_NOT_SUPPORTED where the host
   * has no queues
   */
  check({ account, name }: Pick<ConsumingFunction, 'account' | 'name'>, consumers: readonly ResolvedConsumer[]): void {
    if (consumers.length > 0) this.#parts.queues(account);
    for (const { queue } of consumers) {
      const other = this.consumerOf(account, queue);
      if (other === undefined || other === name) continue;
      throw new EdgeError(
        'EDGE_LIMIT_EXCEEDED',
        `Cannot let function "${name}" consume queue "${queue}": function "${other}" does, and a queue has one consumer`,
      );
    }
  }

  /** Delivers the messages of these queues to the function, until the result is called. */
  start(target: ConsumingFunction, consumers: readonly ResolvedConsumer[]): () => void {
    if (consumers.length === 0 || this.#isClosing) return NOTHING;
    const { account, name, share, runner } = target;
    let isStopped = false;
    const started = consumers.map(settings => {
      const consumer = new QueueConsumer({
        settings,
        directory: this.#parts.queues(account),
        runner,
        work: {
          ...OWN_WORK,
          owner: share,
          charge: ms => share.charge(ms),
          turn: () => share.turn(),
          countBytes: bytes => share.bytes.countBuffers(bytes),
        },
        hasRoom: () => !share.bytes.isUnderPressure,
        warn: this.#parts.warn,
        isClosing: () => this.#isClosing || isStopped,
      });
      this.#alive.add(consumer);
      detached(consumer.ended().then(() => this.#alive.delete(consumer)));
      const key = keyOf(account, settings.queue);
      this.#consumers.set(key, { name, consumer });
      return { key, consumer };
    });
    return () => {
      isStopped = true;
      for (const { key, consumer } of started) {
        consumer.stop();
        if (this.#consumers.get(key)?.consumer === consumer) this.#consumers.delete(key);
      }
    };
  }

  /** Receives nothing more. Open batches continue. */
  stop(): void {
    this.#isClosing = true;
    for (const consumer of this.#alive) consumer.stop();
  }

  /** Resolves when the outcome of everything that was being handled is on disk. */
  async ended(): Promise<void> {
    await Promise.all([...this.#alive].map(consumer => consumer.ended()));
  }
}

const NOTHING = (): void => {};

function keyOf(account: string, queue: string): string {
  return `${account}/${queue}`;
}
