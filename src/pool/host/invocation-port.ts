/** The messages of an isolate about one of its invocations, checked: an isolate may be compromised. */
import type { Exchange, ExchangeListener } from '../../protocol/exchange.js';
import { ProtocolError } from '../../protocol/frames/protocol-error.js';
import { type HandlerFailure, QUEUE_WORD_BYTES, SignalKind } from '../../protocol/messages.js';
import { decodeReading } from '../../protocol/pong.js';
import type { LossReason, LossUsage } from './isolate-loss.js';
import { parseHandlerFailure } from './isolate-messages.js';

export interface InvocationPort extends ExchangeListener {
  onLog(level: number, text: string): void;
  onPassThrough(): void;
  onNoRetry(): void;
  onHandlerFailed(failure: HandlerFailure): void;
  /** A promise given to waitUntil was rejected. */
  onWaitRejected?(failure: HandlerFailure): void;
  /** The function has said what becomes of a message of its batch, or of all of them; NaN seconds for no delay. It concerns queues alone. */
  onQueueWord?(word: number, index: number, delaySeconds: number): void;
  /** The function calls a service. `head` was written by the function; `body` is a view, whole when `isComplete`. */
  onCall(exchange: Exchange, service: number, head: string, body: Buffer, isComplete: boolean): void;
  /** The function has read a call's answer to its end, or has canceled it. */
  onCallRead(call: number): void;
  /** Everything sent before the ping has had its turn in the isolate, where function code is reading the answers of these calls. */
  onPong(reading: readonly number[]): void;
  /** The backend process has got a call of it, and asks whether it is open. */
  onBackendAsks?(): boolean;
  /** The invocation has ended in the isolate. `flags` are a {@link DoneFlag} set. */
  onDone(cpuMs: number, peakBytes: number, flags: number): void;
  /** Somebody waits for its answer. */
  readonly isUnanswered?: boolean;
  /** Its host is about to close: a WebSocket of a client is closed with 1001. */
  goAway?(): void;
  /** Called periodically: an invocation without progress for too long ends. */
  checkProgress(nowMs: number): void;
  /** The isolate is gone, and the invocation with it. */
  onLost(reason: LossReason, detail: string, usage: LossUsage): void;
}

/** Name, message and stack of an error, cut at some 20,000 characters together, each of which takes up to six bytes in JSON. */
const MAX_FAILURE_BYTES = 128 * 1024;

/**
 * Hands a signal to the invocation that it is about. The end of an invocation and the splices of its bodies are not among them.
 *
 * @throws ProtocolError
 */
export function deliverSignal(port: InvocationPort, kind: number, payload: Buffer): void {
  switch (kind) {
    case SignalKind.Log:
      if (payload.length > 0) port.onLog(payload.readUInt8(0), payload.toString('utf8', 1));
      return;
    case SignalKind.PassThrough:
      port.onPassThrough();
      return;
    case SignalKind.NoRetry:
      port.onNoRetry();
      return;
    case SignalKind.HandlerFailed:
      port.onHandlerFailed(failureIn(payload));
      return;
    case SignalKind.WaitRejected:
      port.onWaitRejected?.(failureIn(payload));
      return;
    case SignalKind.CallRead:
      if (payload.length >= 4) port.onCallRead(payload.readUInt32LE(0));
      return;
    case SignalKind.QueueWord:
      if (payload.length < QUEUE_WORD_BYTES) throw new ProtocolError(`A word on a message has ${payload.length} bytes`);
      port.onQueueWord?.(payload.readUInt8(0), payload.readUInt32LE(1), payload.readDoubleLE(5));
      return;
    case SignalKind.Pong:
      port.onPong(decodeReading(payload));
      return;
    default:
  }
}

function failureIn(payload: Buffer): HandlerFailure {
  if (payload.length > MAX_FAILURE_BYTES) {
    throw new ProtocolError(`The failure of a handler has ${payload.length} bytes`);
  }
  return parseHandlerFailure(payload.toString('utf8'));
}
