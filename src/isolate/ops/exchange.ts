/** Ops that answer invocations, make calls to services and move bodies. They check the form of arguments; all policies are the host's. */

import { QueueWord } from '../../protocol/messages.js';
import { isServiceId, MAX_CALL_HEAD_BYTES, type ServiceId } from '../../quotas/service-calls.js';
import { errorText, type GuestExchange } from '../guest-exchange.js';
import { checkedInteger, checkedText, copyIn, copyOut, guestByteLength, OpError, optionalText } from './arguments.js';
import type { MessageReader } from './message-reader.js';
import type { OpContext, OpSet } from './op-set.js';
import { BODY_ENDED, MAX_REPLY_HEAD_CHARACTERS, Op } from './table.js';
import { bytesRecord, textRecord } from './write-record.js';

/** The parts of the isolate that these ops use. */
export interface ExchangeHost {
  /** The exchange, if it is the guest's to use. */
  find(id: number): GuestExchange | undefined;
  /** Opens a call on behalf of the invocation whose turn it is; OpError outside of an invocation. */
  call(service: ServiceId, head: string, body: Uint8Array | string | null, isComplete: boolean): GuestExchange;
  /** The same, and the thread stands still until it is answered. */
  callBlocking(
    service: ServiceId,
    head: string,
    body: Uint8Array | string | null,
  ): { readonly head: string; readonly body: Uint8Array };
  /** The guest has no more use for the call. */
  forget(exchange: GuestExchange): void;
  /** An answer is about to go out; the invocation may be ended for it. */
  beforeReply(invocation: GuestExchange): void;
  failed(invocation: GuestExchange, failure: string): void;
  waitRejected(invocation: GuestExchange, failure: string): void;
  passThrough(invocation: GuestExchange): void;
  noRetry(invocation: GuestExchange): void;
  handled(invocation: GuestExchange): void;
  /** waitUntil was called; OpError when its promise may not be held any more. */
  hold(invocation: GuestExchange): void;
  /** The guest continues in a turn of the invocation. */
  resume(invocation: GuestExchange): void;
  /** Ends everything but the promises given to waitUntil. */
  abandon(invocation: GuestExchange): void;
  /** Function code has said what becomes of messages of its batch; NaN for no delay. */
  queueWord(invocation: GuestExchange, word: QueueWord, index: number, delaySeconds: number): void;
  /** Function code has the signal of the request. */
  awaitClient(invocation: GuestExchange): void;
  /** The reader of a socket's messages. From the first call on its bodies belong to a socket. */
  messagesOf(exchange: GuestExchange): MessageReader;
}

/** The longest failure of a handler; the guest shortens its texts. */
const MAX_FAILURE_CHARACTERS = 128 * 1024;
/** The longest failure of a body, which is shortened here. */
const MAX_MESSAGE_CHARACTERS = 2 * 1024 * 1024;
const MAX_REASON_CHARACTERS = 4096;
/** Far more messages than a batch has. */
const MAX_BATCH_INDEX = 1000;
/** The body of a call for whose answer the thread waits. */
const MAX_BLOCKING_BYTES = 16 * 1024 * 1024;
const MAX_CHUNK_BYTES = 1024 * 1024;
/** A whole body may be as large as the isolate's memory: it is in there already. */
const MAX_WHOLE_BYTES = 512 * 1024 * 1024;

export function exchangeOps(host: ExchangeHost, context: Pick<OpContext, 'leaveBytes'>): OpSet {
  const exchange = (id: unknown): GuestExchange => {
    const found = host.find(checkedInteger(id, 1, 0xffff_ffff));
    if (found === undefined) throw new OpError('Error', 'The request that this belongs to is over');
    return found;
  };
  const invocation = (id: unknown): GuestExchange => {
    const found = exchange(id);
    if (!found.isInvocation) throw new OpError('Error', 'Not an invocation');
    return found;
  };
  const reply = (
    id: unknown,
    status: unknown,
    head: unknown,
    body: Uint8Array | string | null,
    isComplete: boolean,
  ) => {
    const found = invocation(id);
    host.beforeReply(found);
    found.exchange.reply(
      // The host refuses a switch of protocols that the client has not asked for, and the answer with a socket that it does not know.
      status === 101 ? 101 : checkedInteger(status, 200, 599),
      checkedText(head, MAX_REPLY_HEAD_CHARACTERS),
      false,
      body,
      isComplete,
    );
    found.isWriting = !isComplete;
    return undefined;
  };
  const call = (service: unknown, head: unknown, body: Uint8Array | string | null, isComplete: boolean): number => {
    const made = host.call(checkedService(service), callHead(checkedText(head, MAX_CALL_HEAD_BYTES)), body, isComplete);
    made.isWriting = !isComplete;
    return made.id;
  };

  return {
    [Op.Reply]: (id, status, head, body) => reply(id, status, head, optionalText(body, MAX_WHOLE_BYTES) ?? null, true),
    [Op.ReplyBytes]: (id, status, head, body) => reply(id, status, head, copyIn(body, MAX_WHOLE_BYTES), true),
    [Op.ReplyStream]: (id, status, head) => reply(id, status, head, null, false),
    [Op.ReplyFailed]: (id, failure) => {
      const found = invocation(id);
      host.failed(found, checkedText(failure, MAX_FAILURE_CHARACTERS));
      found.exchange.reply(0, '', false, null, true);
      return undefined;
    },
    [Op.Exit]: (id, failure) => {
      const found = invocation(id);
      const text = checkedText(failure, MAX_FAILURE_CHARACTERS);
      if (found.exchange.isReplied) {
        if (!found.exchange.isOutgoingOver) found.failOutgoing('The function called process.exit()');
        return undefined;
      }
      host.failed(found, text);
      found.exchange.reply(0, '', false, null, true);
      return undefined;
    },
    [Op.PassThrough]: id => {
      host.passThrough(invocation(id));
      return undefined;
    },
    [Op.NoRetry]: id => {
      host.noRetry(invocation(id));
      return undefined;
    },
    [Op.WaitFailed]: (id, failure) => {
      host.failed(invocation(id), checkedText(failure, MAX_FAILURE_CHARACTERS));
      return undefined;
    },
    [Op.WaitRejected]: (id, failure) => {
      host.waitRejected(invocation(id), checkedText(failure, MAX_FAILURE_CHARACTERS));
      return undefined;
    },
    [Op.Done]: id => {
      host.handled(invocation(id));
      return undefined;
    },
    [Op.Hold]: id => {
      host.hold(invocation(id));
      return undefined;
    },
    [Op.Resume]: id => {
      host.resume(invocation(id));
      return undefined;
    },
    [Op.Abandon]: id => {
      host.abandon(invocation(id));
      return undefined;
    },
    [Op.QueueWord]: (id, word, index, delaySeconds) => {
      const delay = typeof delaySeconds === 'number' ? delaySeconds : Number.NaN;
      host.queueWord(
        invocation(id),
        checkedInteger(word, QueueWord.Ack, QueueWord.RetryAll),
        checkedInteger(index, 0, MAX_BATCH_INDEX),
        delay,
      );
      return undefined;
    },
    [Op.AwaitClient]: id => {
      host.awaitClient(invocation(id));
      return undefined;
    },

    [Op.Call]: (service, head, body) => call(service, head, optionalText(body, MAX_WHOLE_BYTES) ?? null, true),
    [Op.CallBytes]: (service, head, body) => call(service, head, copyIn(body, MAX_WHOLE_BYTES), true),
    [Op.CallStream]: (service, head) => call(service, head, null, false),
    [Op.CallBlocking]: (service, head, body) => {
      const bytes = body === undefined ? null : copyIn(body, MAX_BLOCKING_BYTES);
      const answer = host.callBlocking(
        checkedService(service),
        callHead(checkedText(head, MAX_CALL_HEAD_BYTES)),
        bytes,
      );
      return `${context.leaveBytes(answer.body)}\n${answer.head}`;
    },
    [Op.CallAbort]: id => {
      const found = exchange(id);
      found.fail('AbortError\nThe call was aborted\n');
      found.noteRead();
      host.forget(found);
      return undefined;
    },

    [Op.BodyWrite]: (id, chunk) => exchange(id).write(copyIn(chunk, MAX_CHUNK_BYTES)),
    [Op.BodyEnd]: id => {
      const found = exchange(id);
      found.exchange.end();
      found.writingDone();
      return undefined;
    },
    [Op.BodyFail]: (id, message) => {
      exchange(id).failOutgoing(checkedText(message, MAX_MESSAGE_CHARACTERS).slice(0, MAX_REASON_CHARACTERS));
      return undefined;
    },
    [Op.BodyAvailable]: id => {
      const found = exchange(id);
      const available = found.awaitData();
      if (available > 0) return available;
      const { incoming } = found.exchange;
      if (incoming === 'open') return 0;
      found.noteRead();
      found.readingDone();
      if (incoming === 'ended') return BODY_ENDED;
      throw failure(found);
    },
    [Op.BodyRead]: (id, target) => {
      const found = exchange(id);
      const { exchange: source } = found;
      if (source.incoming === 'failed') throw failure(found);
      const room = guestByteLength(target, MAX_WHOLE_BYTES);
      let at = 0;
      while (at < room) {
        const piece = source.read(room - at);
        if (piece === undefined) break;
        copyOut(target, piece, at);
        at += piece.length;
      }
      found.noteRead();
      return at;
    },
    [Op.BodyText]: id => {
      const found = exchange(id);
      if (found.exchange.incoming === 'failed') throw failure(found);
      if (!found.exchange.hasWholeBody) throw new OpError('Error', 'The body is not complete');
      const pieces: Buffer[] = [];
      for (let piece = found.exchange.read(MAX_WHOLE_BYTES); piece !== undefined; ) {
        pieces.push(piece);
        piece = found.exchange.read(MAX_WHOLE_BYTES);
      }
      found.noteRead();
      found.readingDone();
      return withoutBom(pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : Buffer.concat(pieces));
    },
    [Op.BodyStop]: id => {
      const found = exchange(id);
      found.stopReading('The function reads no more');
      found.noteRead();
      found.readingDone();
      return undefined;
    },
    [Op.SocketNext]: id => {
      host.messagesOf(exchange(id)).next();
      return undefined;
    },
    [Op.SocketRead]: (id, target) => host.messagesOf(exchange(id)).read(target),
    [Op.SocketText]: (id, kind, text) => exchange(id).write(textRecord(kind, checkedText(text, MAX_WHOLE_BYTES))),
    [Op.SocketBytes]: (id, kind, bytes) => exchange(id).write(bytesRecord(kind, bytes, MAX_WHOLE_BYTES)),
    [Op.BodyPipe]: (from, to) => {
      const source = exchange(from);
      const target = exchange(to);
      if (source === target && !source.isInvocation) throw new OpError('Error', 'A call cannot be piped to itself');
      source.pipeTo(target);
      return undefined;
    },
  };
}

function checkedService(value: unknown): ServiceId {
  const id = checkedInteger(value, 0, 255);
  if (!isServiceId(id)) throw new OpError('RangeError', `There is no service ${id}`);
  return id;
}

/** The host ends an isolate that sends a longer head, so the function gets an error first. */
function callHead(text: string): string {
  if (text.length * 3 > MAX_CALL_HEAD_BYTES && Buffer.byteLength(text) > MAX_CALL_HEAD_BYTES) {
    throw new OpError('TypeError', `The arguments of a call are longer than ${MAX_CALL_HEAD_BYTES} bytes as JSON`);
  }
  return text;
}

/** Why the rest of a body will not come. */
function failure(exchange: GuestExchange): OpError {
  const [name = '', message = '', code = ''] = errorText(exchange.exchange.failReason).split('\n');
  return new OpError(name, message, code);
}

function withoutBom(bytes: Buffer): string {
  const hasBom = bytes.length >= 3 && bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
  return bytes.toString('utf8', hasBom ? 3 : 0);
}
