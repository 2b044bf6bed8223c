/** The decisions of a queue handler about its messages, as the host receives them while the handler runs: they hold even when the handler never answers. */
import { QUEUE_LIMITS } from '../../../bindings/queue/limits.js';
import { QueueWord } from '../../../protocol/messages.js';

/** A message that is to be delivered again. */
export interface Retry {
  readonly id: string;
  /** undefined: the handler has named none. */
  readonly delaySeconds: number | undefined;
}

export class BatchWords {
  readonly #ids: readonly string[];
  /** By the index of the message: acknowledged, or to be retried after this many seconds. */
  readonly #words = new Map<number, 'ack' | { readonly delaySeconds: number | undefined }>();
  #ofAll: 'ack' | { readonly delaySeconds: number | undefined } | undefined;

  constructor(ids: readonly string[]) {
    this.#ids = ids;
  }

  /** The isolate may be compromised: only known words on existing messages count, the first of each kind. */
  say(word: number, index: number, seconds: number): void {
    const delaySeconds = seconds >= 0 && seconds <= QUEUE_LIMITS.delaySeconds ? seconds : undefined;
    if (word === QueueWord.AckAll) this.#ofAll ??= 'ack';
    else if (word === QueueWord.RetryAll) this.#ofAll ??= { delaySeconds };
    else if (index >= this.#ids.length || this.#words.has(index)) return;
    else if (word === QueueWord.Ack) this.#words.set(index, 'ack');
    else if (word === QueueWord.Retry) this.#words.set(index, { delaySeconds });
  }

  /** The messages that are to be delivered again because the handler has failed: all but those that were acknowledged before. */
  get failed(): Retry[] {
    return this.#ids.flatMap((id, index) => {
      const word = this.#words.get(index) ?? this.#ofAll;
      return word === 'ack' ? [] : [{ id, delaySeconds: word?.delaySeconds ?? this.#delayOfAll }];
    });
  }

  get #delayOfAll(): number | undefined {
    return this.#ofAll === undefined || this.#ofAll === 'ack' ? undefined : this.#ofAll.delaySeconds;
  }
}
