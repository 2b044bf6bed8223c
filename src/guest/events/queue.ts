/** Batches of queue messages, as the queue handler gets them. */
import { arrayPush, jsonParse, jsonStringify, TypeErrorCtor } from '../primordials.ts';
import { defineInterface } from '../web/base/idl.ts';

/** The head of Ev.Queue. */
interface BatchHead {
  readonly queue: string;
  readonly messages: readonly MessageHead[];
}

interface MessageHead {
  readonly id: string;
  /** Milliseconds since the epoch. */
  readonly timestamp: number;
  readonly attempts: number;
  readonly body: unknown;
}

type Outcome = 'ack' | 'retry' | undefined;

let isConstructing = false;
let outcomeOf: (message: Message) => { readonly id: string; readonly outcome: Outcome; readonly delaySeconds: number };

export class Message {
  readonly #head: MessageHead;
  #outcome: Outcome;
  #delaySeconds = 0;

  constructor(head: unknown) {
    if (!isConstructing) throw new TypeErrorCtor('Illegal constructor');
    this.#head = head as MessageHead; // only createBatch gets here
  }

  get id(): string {
    return this.#head.id;
  }

  get timestamp(): Date {
    return new Date(this.#head.timestamp);
  }

  get attempts(): number {
    return this.#head.attempts;
  }

  get body(): unknown {
    return this.#head.body;
  }

  /** The message is done, whatever becomes of the rest of the batch. */
  ack(): void {
    this.#outcome ??= 'ack';
  }

  /** The message is delivered again, `delaySeconds` from now. */
  retry(options: unknown = undefined): void {
    const delaySeconds = delayOf(options);
    if (this.#outcome !== undefined) return;
    this.#outcome = 'retry';
    this.#delaySeconds = delaySeconds;
  }

  static {
    outcomeOf = message => ({ id: message.#head.id, outcome: message.#outcome, delaySeconds: message.#delaySeconds });
  }
}

defineInterface(Message);

/** JSON for the host: what becomes of each message. */
export let batchOutcome: (batch: MessageBatch) => string;

export class MessageBatch {
  readonly #queue: string;
  readonly #messages: readonly Message[];
  readonly #all: Message[] = [];
  #outcome: Outcome;
  #delaySeconds = 0;

  constructor(head: unknown) {
    if (!isConstructing) throw new TypeErrorCtor('Illegal constructor');
    const { queue, messages } = head as BatchHead; // only createBatch gets here
    this.#queue = queue;
    for (let i = 0; i < messages.length; i++) arrayPush(this.#all, new Message(messages[i]));
    const visible: Message[] = [];
    for (let i = 0; i < this.#all.length; i++) visible[i] = this.#all[i] ?? new Message(undefined);
    this.#messages = visible;
  }

  get queue(): string {
    return this.#queue;
  }

  get messages(): readonly Message[] {
    return this.#messages;
  }

  ackAll(): void {
    this.#outcome ??= 'ack';
  }

  retryAll(options: unknown = undefined): void {
    const delaySeconds = delayOf(options);
    if (this.#outcome !== undefined) return;
    this.#outcome = 'retry';
    this.#delaySeconds = delaySeconds;
  }

  static {
    batchOutcome = batch => {
      let retries = '';
      for (let i = 0; i < batch.#all.length; i++) {
        const message = batch.#all[i];
        if (message === undefined) continue;
        const { id, outcome, delaySeconds } = outcomeOf(message);
        if ((outcome ?? batch.#outcome) !== 'retry') continue;
        const delay = outcome === 'retry' ? delaySeconds : batch.#delaySeconds;
        retries += `${retries === '' ? '' : ','}{"id":${jsonStringify(id)},"delaySeconds":${delay}}`;
      }
      return `{"retries":[${retries}]}`;
    };
  }
}

defineInterface(MessageBatch);

export function createBatch(json: string): MessageBatch {
  isConstructing = true;
  try {
    return new MessageBatch(jsonParse(json));
  } finally {
    isConstructing = false;
  }
}

const MAX_DELAY_SECONDS = 43_200;

function delayOf(options: unknown): number {
  if (typeof options !== 'object' || options === null || !('delaySeconds' in options)) return 0;
  const seconds = Number(options.delaySeconds);
  if (!(seconds >= 0 && seconds <= MAX_DELAY_SECONDS)) {
    throw new TypeErrorCtor(`delaySeconds must be from 0 to ${MAX_DELAY_SECONDS}, given ${seconds}`);
  }
  return seconds;
}
