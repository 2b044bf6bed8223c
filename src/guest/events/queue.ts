/** Batches of queue messages, as the queue handler gets them. */
import { Op } from '../../isolate/ops/table.ts';
import { op } from '../bridge.ts';
import {
  arrayPush,
  jsonParse,
  jsonStringify,
  stringCharCodeAt,
  TypeErrorCtor,
  Uint8ArrayCtor,
} from '../primordials.ts';
import { decodeStructured } from '../queue/structured.ts';
import { decodeUtf8, decodeUtf8WithBom } from '../utf8.ts';
import { defineInterface } from '../web/base/idl.ts';
import { atob } from '../web/encoding/base64.ts';

/** The head of Ev.Queue. */
interface BatchHead {
  readonly queue: string;
  readonly messages: readonly MessageHead[];
  readonly metrics?: {
    readonly backlogCount: number;
    readonly backlogBytes: number;
    readonly oldestMessageTimestamp?: number;
  };
}

interface MessageHead {
  readonly id: string;
  /** Milliseconds since the epoch. */
  readonly timestamp: number;
  readonly attempts: number;
  /** The body itself, when there is no `type`. */
  readonly body?: unknown;
  /** How `text` or `base64` is to be read. */
  readonly type?: 'json' | 'text' | 'bytes' | 'v8';
  readonly text?: string;
  readonly base64?: string;
}

/** The numbers of QueueWord (protocol/messages.ts). */
const ACK = 0;
const RETRY = 1;
const ACK_ALL = 2;
const RETRY_ALL = 3;

type Outcome = 'ack' | 'retry' | undefined;

/** The decisions about all messages of a batch. */
interface BatchState {
  readonly invocation: number;
  outcome: Outcome;
  delaySeconds: number | undefined;
  /** The handler has returned: nothing that is said counts any more. */
  isClosed: boolean;
}

interface Said {
  readonly id: string;
  readonly outcome: Outcome;
  readonly delaySeconds: number | undefined;
}

let construction: BatchState | undefined;
let saidOf: (message: Message) => Said;

export class Message {
  readonly #head: MessageHead;
  readonly #batch: BatchState;
  readonly #index: number;
  #body: unknown;
  #isDecoded = false;
  #outcome: Outcome;
  #delaySeconds: number | undefined;

  constructor(head: unknown, index: unknown) {
    if (construction === undefined) throw new TypeErrorCtor('Illegal constructor');
    this.#head = head as MessageHead; // only createBatch gets here
    this.#index = index as number; // as above
    this.#batch = construction;
  }

  get id(): string {
    return this.#head.id;
  }

  get timestamp(): Date {
    return new DateCtor(this.#head.timestamp);
  }

  get attempts(): number {
    return this.#head.attempts;
  }

  get body(): unknown {
    if (!this.#isDecoded) {
      this.#body = bodyOf(this.#head);
      this.#isDecoded = true;
    }
    return this.#body;
  }

  /** The message is done, whatever becomes of the rest of the batch. */
  ack(): void {
    if (this.#outcome !== undefined || !isOpen(this.#batch)) return;
    this.#outcome = 'ack';
    say(this.#batch, ACK, this.#index, undefined);
  }

  /** The message is delivered again, `delaySeconds` from now. */
  retry(options: unknown = undefined): void {
    const delaySeconds = delayOf(options);
    if (this.#batch.isClosed || this.#outcome === 'ack') return;
    if (this.#outcome === undefined && this.#batch.outcome === 'ack') return;
    this.#outcome = 'retry';
    this.#delaySeconds = delaySeconds ?? this.#delaySeconds;
  }

  static {
    saidOf = message => ({ id: message.#head.id, outcome: message.#outcome, delaySeconds: message.#delaySeconds });
  }
}

defineInterface(Message);

/** Whether nothing has been said of all messages. */
function isOpen({ outcome, isClosed }: BatchState): boolean {
  return outcome === undefined && !isClosed;
}

/** JSON for the host: what becomes of each message. */
export let batchOutcome: (batch: MessageBatch) => string;

/** The handler has returned, or failed: what it says from now on does not count. */
export let closeBatch: (batch: MessageBatch) => void;

/** The handler has failed: the host knows the acknowledged messages, and gets the delays. */
export let sayRetries: (batch: MessageBatch) => void;

export class MessageBatch {
  readonly #queue: string;
  readonly #metadata: BatchHead['metrics'];
  readonly #messages: readonly Message[];
  readonly #all: Message[] = [];
  readonly #state: BatchState;

  constructor(head: unknown) {
    if (construction === undefined) throw new TypeErrorCtor('Illegal constructor');
    const { queue, messages, metrics } = head as BatchHead; // only createBatch gets here
    this.#queue = queue;
    this.#metadata = metrics;
    this.#state = construction;
    for (let i = 0; i < messages.length; i++) arrayPush(this.#all, new Message(messages[i], i));
    const visible: Message[] = [];
    for (let i = 0; i < this.#all.length; i++) visible[i] = this.#all[i] ?? new Message(undefined, i);
    this.#messages = visible;
  }

  get queue(): string {
    return this.#queue;
  }

  get messages(): readonly Message[] {
    return this.#messages;
  }

  /** `metrics`: how much the queue held when the batch was made. */
  get metadata(): object {
    const { backlogCount = 0, backlogBytes = 0, oldestMessageTimestamp } = this.#metadata ?? {};
    const metrics = { backlogCount, backlogBytes };
    if (oldestMessageTimestamp === undefined) return { metrics };
    return { metrics: { backlogCount, backlogBytes, oldestMessageTimestamp: new DateCtor(oldestMessageTimestamp) } };
  }

  ackAll(): void {
    if (!isOpen(this.#state)) return;
    this.#state.outcome = 'ack';
    // Before the word on all messages, those on single ones.
    this.#sayRetries();
    say(this.#state, ACK_ALL, 0, undefined);
  }

  retryAll(options: unknown = undefined): void {
    const delaySeconds = delayOf(options);
    const state = this.#state;
    if (state.isClosed || state.outcome === 'ack') return;
    state.outcome = 'retry';
    state.delaySeconds = delaySeconds ?? state.delaySeconds;
  }

  #sayRetries(): void {
    for (let i = 0; i < this.#all.length; i++) {
      const message = this.#all[i];
      if (message === undefined) continue;
      const { outcome, delaySeconds } = saidOf(message);
      if (outcome === 'retry') say(this.#state, RETRY, i, delaySeconds);
    }
  }

  static {
    batchOutcome = batch => {
      const { outcome: ofAll, delaySeconds: ofAllSeconds } = batch.#state;
      let retries = '';
      for (let i = 0; i < batch.#all.length; i++) {
        const message = batch.#all[i];
        if (message === undefined) continue;
        const { id, outcome, delaySeconds } = saidOf(message);
        if ((outcome ?? ofAll) !== 'retry') continue;
        const delay = delaySeconds ?? (ofAll === 'retry' ? ofAllSeconds : undefined);
        retries += `${retries === '' ? '' : ','}{"id":${jsonStringify(id)},"delaySeconds":${delay ?? 'null'}}`;
      }
      return `{"retries":[${retries}]}`;
    };
    closeBatch = batch => {
      batch.#state.isClosed = true;
    };
    sayRetries = batch => {
      // The words on all of them have been said before ackAll().
      if (batch.#state.outcome === 'ack') return;
      batch.#sayRetries();
      if (batch.#state.outcome === 'retry') say(batch.#state, RETRY_ALL, 0, batch.#state.delaySeconds);
    };
  }
}

defineInterface(MessageBatch);

/** `invocation`: the one that handles the batch; 0 for none, and then nothing is said to the host. */
export function createBatch(json: string, invocation = 0): MessageBatch {
  construction = { invocation, outcome: undefined, delaySeconds: undefined, isClosed: false };
  try {
    return new MessageBatch(jsonParse(json));
  } finally {
    construction = undefined;
  }
}

function say({ invocation }: BatchState, word: number, index: number, delaySeconds: number | undefined): void {
  if (invocation === 0) return;
  try {
    op(Op.QueueWord, invocation, word, index, delaySeconds);
  } catch {
    // The invocation is over.
  }
}

function bodyOf({ type, body, text, base64 }: MessageHead): unknown {
  switch (type) {
    case undefined:
      return body;
    case 'json':
      return jsonParse(text ?? decodeUtf8(bytesOf(base64)));
    case 'text':
      return text ?? decodeUtf8WithBom(bytesOf(base64));
    case 'bytes':
      return bytesOf(base64);
    case 'v8':
      return decodeStructured(bytesOf(base64));
  }
}

function bytesOf(base64 = ''): Uint8Array {
  const latin1 = atob(base64);
  const { length } = latin1;
  const bytes = new Uint8ArrayCtor(length);
  for (let i = 0; i < length; i++) bytes[i] = stringCharCodeAt(latin1, i);
  return bytes;
}

const DateCtor = Date;
const toNumber = Number;
const MAX_DELAY_SECONDS = 43_200;

function delayOf(options: unknown): number | undefined {
  if (typeof options !== 'object' || options === null || !('delaySeconds' in options)) return undefined;
  const given: unknown = options.delaySeconds;
  if (given === undefined || given === null) return undefined;
  const seconds = toNumber(given);
  if (!(seconds >= 0 && seconds <= MAX_DELAY_SECONDS)) {
    throw new TypeErrorCtor(`delaySeconds must be from 0 to ${MAX_DELAY_SECONDS}, given ${seconds}`);
  }
  return seconds;
}
