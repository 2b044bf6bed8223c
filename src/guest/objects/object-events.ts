/** Events of stateful objects: each finds its object, waits for the input gate, and is answered when the output gate is open. */
import type { ReceivedCall } from '../../bindings/function/wire.ts';
import type { SocketEventHead } from '../../bindings/objects/socket-wire.ts';
import type { ObjectEventHead } from '../../bindings/objects/wire.ts';
import { CloseCode } from '../../bindings/websocket/wire.ts';
import { BODY_NONE, BODY_STREAM, Ev } from '../../isolate/ops/table.ts';
import { ServiceId } from '../../quotas/service-calls.ts';
import { goesWhole } from '../body-out.ts';
import { onEvent } from '../bridge.ts';
import { setOutputGate } from '../call-service.ts';
import { answerFetch, answerOther, fail } from '../events/answers.ts';
import type { Base } from '../events/call-result.ts';
import { requestOf } from '../events/event-request.ts';
import type { AlarmInfo } from '../events/handlers.ts';
import { currentInvocation, type GuestInvocation, openInvocation } from '../events/invocation.ts';
import { forgetResumed, isCallResumed, resume } from '../events/resume.ts';
import { HostBody } from '../host-body.ts';
import { leave, mayLeave } from '../output-gate.ts';
import {
  ErrorCtor,
  jsonParse,
  PromiseCtor,
  promiseThen,
  reflectApply,
  stringCharCodeAt,
  stringIndexOf,
  stringSlice,
  stringSplit,
  TypeErrorCtor,
  Uint8ArrayCtor,
} from '../primordials.ts';
import { exporterOf } from '../rpc/exports.ts';
import { answerCall, goOnBy, type ObjectTurn, onCallOfTarget } from '../rpc/serve.ts';
import { decodeUtf8WithBom } from '../utf8.ts';
import { bufferOf, isUint8Array } from '../web/base/buffers.ts';
import { isCallable, isObject } from '../web/base/idl.ts';
import { isResponse, responseState } from '../web/fetch/response.ts';
import { ownTimers } from '../web/scheduling/timers.ts';
import { instanceOf, liveInstance, takesCalls, timersOf } from './instances.ts';
import type { GuestLiveObject, ObjectEvent } from './live-object.ts';
import { ObjectInvocation, TargetInvocation } from './object-invocation.ts';
import { collected } from './storage/storage-calls.ts';

const FETCH = 102; // f
const RPC = 114; // r
const SOCKET = 115; // s
const TIMER = 116; // t
/** Kinds of socket events. */
const TEXT = 116; // t
const BINARY = 98; // b
const CLOSE = 99; // c

onEvent(Ev.ObjectEvent, (id: number, text: string, bodySize: number) => {
  isUsed();
  const invocation = new ObjectInvocation(id);
  const lineEnd = stringIndexOf(text, '\n');
  const { c, i, n, w, a }: ObjectEventHead = jsonParse(stringSlice(text, 1, lineEnd)); // the host's
  const head = stringSlice(text, lineEnd + 1);
  const kind = stringCharCodeAt(text, 0);
  if (kind === TIMER) {
    receiveTimer(invocation, liveInstance(c, i));
    return;
  }
  let object: GuestLiveObject;
  try {
    object = instanceOf(c, i, n, w === 1, made => {
      invocation.object = made;
    });
  } catch (error) {
    fail(invocation, error, 'EDGE_HANDLER_THREW');
    return;
  }
  if (object.broken !== undefined) {
    fail(invocation, object.broken.error, 'EDGE_OBJECT_RESET');
    return;
  }
  if (a !== undefined) object.sockets?.answered(a);
  if (kind === FETCH) receiveFetch(invocation, object, head, bodySize);
  else if (kind === RPC) receiveCall(invocation, object, head, bodySize);
  else if (kind === SOCKET) receiveSocket(invocation, object, head, bodySize);
  else receiveAlarm(invocation, object, head);
});

function eventOf(
  invocation: ObjectInvocation,
  object: GuestLiveObject,
  isReady: boolean,
  deliver: () => void,
  isTimer = false,
): ObjectEvent {
  const event: ObjectEvent = {
    invocation,
    isReady,
    deliver,
    isTimer,
    broken: error => {
      if (!invocation.isAnswered) fail(invocation, error, 'EDGE_OBJECT_RESET');
      else invocation.cutOff();
      object.ended(event);
    },
  };
  invocation.event = event;
  return event;
}

function receiveFetch(invocation: ObjectInvocation, object: GuestLiveObject, head: string, bodySize: number): void {
  const request = requestOf(invocation, head, bodySize);
  const deliver = (): void =>
    call(invocation, object, 'fetch', [request], result => {
      // A Response that is there already is checked by the one who answers.
      answerFetch(invocation, result, object.className);
    });
  object.receive(eventOf(invocation, object, true, deliver));
}

function receiveAlarm(invocation: ObjectInvocation, object: GuestLiveObject, head: string): void {
  const [time = '', retries = ''] = stringSplit(head, '\n');
  const info: AlarmInfo = { scheduledTime: +time, retryCount: +retries, isRetry: +retries > 0 };
  const deliver = (): void =>
    call(invocation, object, 'alarm', [info], () => {
      answerOther(invocation, undefined);
    });
  object.receive(eventOf(invocation, object, true, deliver));
}

/** A timer is due that has outlived its event. An instance that is gone has none any more. */
function receiveTimer(invocation: ObjectInvocation, object: GuestLiveObject | undefined): void {
  const answer = (): void => answerOther(invocation, undefined);
  const { timers } = object ?? {};
  if (object === undefined || timers === undefined) {
    answer();
    return;
  }
  invocation.object = object;
  const deliver = (): void => {
    timers.run();
    finish(invocation, object, answer);
  };
  object.receive(eventOf(invocation, object, true, deliver, true));
}

type SocketMethod = 'webSocketMessage' | 'webSocketClose' | 'webSocketError';

/** A message, or the end, of a socket that sleeps in the host. */
function receiveSocket(invocation: ObjectInvocation, object: GuestLiveObject, head: string, bodySize: number): void {
  const kind = stringCharCodeAt(head, 0);
  const event: SocketEventHead = jsonParse(stringSlice(head, 1)); // the host's
  const body = bodySize === BODY_NONE ? null : new HostBody(invocation.id, bodySize < 0 ? BODY_STREAM : bodySize);
  let bytes: Uint8Array | undefined;
  const deliver = (): void => deliverSocket(invocation, object, kind, event, bytes);
  const waiting = eventOf(invocation, object, body === null || body.isComplete, deliver);
  if (body?.isComplete === true) bytes = body.bytes();
  object.receive(waiting);
  if (body === null || body.isComplete) return;
  void promiseThen(
    collected(null, body),
    whole => {
      bytes = whole.body;
      waiting.isReady = true;
      object.pump(currentInvocation()?.id ?? 0);
    },
    error => {
      object.gone(waiting);
      fail(invocation, error, 'EDGE_HANDLER_THREW');
    },
  );
}

function deliverSocket(
  invocation: ObjectInvocation,
  object: GuestLiveObject,
  kind: number,
  { s, c = 0, r = '' }: SocketEventHead,
  bytes: Uint8Array | undefined,
): void {
  const isMessage = kind === TEXT || kind === BINARY;
  const socket = (isMessage ? object.sockets?.find(s) : object.sockets?.ended(s))?.socket;
  const answer = (): void => answerOther(invocation, undefined);
  if (socket === undefined) finish(invocation, object, answer);
  else if (isMessage) {
    // Each empty message has a buffer of its own, because its handler may detach it.
    const given = bytes ?? new Uint8ArrayCtor(0);
    const message = kind === TEXT ? decodeUtf8WithBom(given) : bufferOf(given);
    call(invocation, object, 'webSocketMessage', [socket, message], answer);
  } else if (kind === CLOSE) {
    const why = c === CloseCode.Lost && r === '' ? 'WebSocket disconnected without sending Close frame.' : r;
    call(invocation, object, 'webSocketClose', [socket, c, why, c !== CloseCode.Lost], answer);
  } else call(invocation, object, 'webSocketError', [socket, new ErrorCtor(r)], answer);
}

/** Calls a handler of the instance; `answer` gets what it answered when the output gate is open. */
function call(
  invocation: ObjectInvocation,
  object: GuestLiveObject,
  method: 'fetch' | 'alarm' | SocketMethod,
  args: readonly unknown[],
  answer: (result: unknown) => void,
): void {
  let result: unknown;
  try {
    const { instance } = object;
    const handler: unknown = isObject(instance) ? (instance as { [name: string]: unknown })[method] : undefined; // every object can be read from
    if (handler === undefined && (method === 'webSocketClose' || method === 'webSocketError')) {
      finish(invocation, object, () => answer(undefined));
      return;
    }
    if (!isCallable(handler)) throw new TypeErrorCtor(`The class "${object.className}" has no method ${method}()`);
    result = reflectApply(handler, instance, args);
  } catch (error) {
    finish(invocation, object, () => fail(invocation, error, 'EDGE_HANDLER_THREW'), true);
    return;
  }
  if (isResponse(result)) finish(invocation, object, () => answer(result), isWhole(result));
  else void settle(invocation, object, result, answer);
}

async function settle(
  invocation: ObjectInvocation,
  object: GuestLiveObject,
  promise: unknown,
  answer: (result: unknown) => void,
): Promise<void> {
  let result: unknown;
  try {
    result = await promise;
  } catch (error) {
    finish(invocation, object, () => fail(invocation, error, 'EDGE_HANDLER_THREW'), true);
    return;
  }
  finish(invocation, object, () => answer(result), isWhole(result));
}

/** Whether all of the answer leaves at once. */
function isWhole(result: unknown): boolean {
  if (!isResponse(result)) return true;
  const { body, webSocket } = responseState(result);
  if (webSocket !== null) return false;
  const source = body?.source;
  return body === null || typeof source === 'string' || (isUint8Array(source) && goesWhole(source));
}

/**
 * Answers when all earlier writes are on disk. A whole answer leaves at once when the writes are on their way, for the host holds it back. An object that was
 * reset has failed the event by then.
 */
function finish(invocation: ObjectInvocation, object: GuestLiveObject, answer: () => void, isWhole = false): void {
  const go = (): void => {
    if (invocation.isAnswered) return;
    invocation.isStreaming = !isWhole;
    answer();
    invocation.isAnswered = true;
  };
  // The host does not know of which object a target is.
  if (isWhole && !(invocation instanceof TargetInvocation)) object.gates.whenSent(go);
  else object.gates.whenWritten(go);
}

function receiveCall(invocation: ObjectInvocation, object: GuestLiveObject, head: string, bodySize: number): void {
  const received: ReceivedCall = jsonParse(head); // the host's
  const body = bodySize === BODY_NONE ? null : new HostBody(invocation.id, bodySize < 0 ? BODY_STREAM : bodySize);
  answer(invocation, object, received, body);
}

function answer(
  invocation: ObjectInvocation,
  object: GuestLiveObject,
  received: ReceivedCall,
  body: HostBody | null,
  base?: Base,
): void {
  let begin = (): void => {};
  const event = eventOf(invocation, object, false, () => begin());
  const turn: ObjectTurn = {
    begin: () =>
      new PromiseCtor<object | undefined>((resolve, reject) => {
        begin = () => {
          const { instance } = object;
          if (received.x !== undefined || base !== undefined) resolve(undefined);
          else if (instance !== undefined && takesCalls(instance)) resolve(instance);
          else
            reject(
              new TypeErrorCtor(
                `The object does not support RPC, because its class "${object.className}" does not extend StatefulObject. Call fetch(), or let it extend StatefulObject`,
              ),
            );
        };
        event.isReady = true;
        object.pump(currentInvocation()?.id ?? 0);
      }),
    finish: (answer, isWhole) => {
      // Its arguments could not be read: nothing is delivered.
      if (!event.isReady) object.gone(event);
      finish(invocation, object, answer, isWhole);
    },
  };
  void answerCall(invocation, received, body, turn, base);
  object.receive(event);
}

function answerForObject(id: number, call: ReceivedCall, body: HostBody | null): boolean {
  const { x, y } = call;
  const exporter = x !== undefined ? exporterOf(x) : y !== undefined ? openInvocation(y) : undefined;
  const object = exporter instanceof ObjectInvocation ? exporter.object : undefined;
  if (object === undefined) return false;
  const invocation = new TargetInvocation(id);
  const goOn = (base?: Base): void => {
    if (object.broken !== undefined) fail(invocation, object.broken.error, 'EDGE_OBJECT_RESET');
    else {
      invocation.object = object;
      answer(invocation, object, call, body, base);
    }
  };
  if (y === undefined) goOn();
  // Not before: a call behind it would wait for a result that may depend on it.
  else goOnBy(invocation, y, body, goOn);
  return true;
}

let isGateSet = false;

/** Only isolates with objects look for gates. */
function isUsed(): void {
  if (isGateSet) return;
  isGateSet = true;
  ownTimers(() => {
    const invocation = currentInvocation();
    const object = invocation instanceof ObjectInvocation ? invocation.object : undefined;
    return object === undefined || object.broken !== undefined ? undefined : timersOf(object);
  });
  onCallOfTarget(answerForObject);
  setOutputGate(service => {
    const invocation = currentInvocation();
    const object = invocation instanceof ObjectInvocation ? invocation.object : undefined;
    if (object?.broken !== undefined) throw new ErrorCtor('The object was reset: this instance of it is over');
    // Calls of its own storage are not held: the gate waits for them.
    if (invocation === undefined || service === ServiceId.ObjectStorage) return undefined;
    if (mayLeave() && !isCallResumed()) return undefined;
    return (go, refuse) => {
      invocation.tasks++;
      if (object === undefined) forgetWhenOver(invocation);
      const fail = (error: unknown): void => {
        refuse(error);
        invocation.endTask();
      };
      leave(() => {
        const broken = object?.broken;
        if (broken !== undefined) fail(broken.error);
        else if (!resume(invocation.id, passed, true)) fail(new ErrorCtor('The event that this belongs to is over'));
      }, fail);
      const passed = (): void => {
        go();
        invocation.endTask();
      };
    };
  });
}

function forgetWhenOver(invocation: GuestInvocation): void {
  const before = invocation.onOver;
  invocation.onOver = () => {
    before?.();
    forgetResumed(invocation.id);
  };
}
