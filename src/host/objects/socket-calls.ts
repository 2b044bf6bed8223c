/** Answers what stateful objects do with their sleeping WebSockets. Everything in the calls was written by a function. */

import { cancelBody } from '../../bindings/bodies/cancel-body.js';
import { isObjectId } from '../../bindings/objects/object-id.js';
import {
  ACCEPT_BYTES,
  ENTRY_HEAD_BYTES,
  JOIN,
  LIST,
  LISTED_HEAD_BYTES,
  type ListedSocket,
  type ListedSockets,
  NO_ATTACHMENT,
  SEND,
  SOCKET_LIMITS,
  SocketEntry,
} from '../../bindings/objects/socket-wire.js';
import { MAX_PASSED_NAME } from '../../bindings/objects/wire.js';
import type { ServiceBody, ServiceCall, ServiceReply } from '../../bindings/service.js';
import { OutgoingLink } from '../../bindings/websocket/outgoing-link.js';
import { RECORD_HEAD_BYTES, RecordKind } from '../../bindings/websocket/wire.js';
import { costOf, HOST_COSTS } from '../../quotas/host/host-costs.js';
import { isObject } from '../../quotas/schema/describe.js';
import type { SleepingSockets } from '../hibernation/function-sockets.js';
import { takeHanded } from '../hibernation/handed-sockets.js';
import { SleepingSocket } from '../hibernation/hibernatable-socket.js';
import type { SleepingObject, SocketRunner } from '../hibernation/keeper.js';
import type { ObjectSockets } from '../hibernation/object-sockets.js';
import { PairedEnd } from '../hibernation/paired-end.js';
import { isCallingOrigin } from '../rpc/calling-origin.js';

/** The host's work for one entry, beside its bytes. */
const ENTRY_MS = 0.004;
/** The longest body of a call: the isolate sends what it has in parts of a MiB, each of which may end with a long message. */
const MORE_BYTES = 2 * 1024 * 1024;
const CLASS_NAME = /^[\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]{0,254}$/u;
/** The part of a listing that is sent at once. */
const CHUNK_BYTES = 64 * 1024;

/** @param runner the objects of the function, as it is now */
export function objectSocketCalls(
  sockets: SleepingSockets,
  runner: () => SocketRunner,
): (call: ServiceCall) => Promise<ServiceReply> {
  return async call => {
    const { method, args } = call;
    if (method === SEND) {
      const name = nameOf(args);
      return send(sockets.of(runner()).object(name), call);
    }
    if (method === LIST) {
      const { className, id } = nameOf(args);
      return list(sockets.find(runner())?.find(className, id), call);
    }
    if (method === JOIN) return join(call);
    throw new TypeError('WebSockets of objects have no such method');
  };
}

/** @throws TypeError for what names no object */
function nameOf(args: unknown): SleepingObject {
  const { c, i, n }: Readonly<Record<string, unknown>> = isObject(args) ? args : {};
  if (typeof c !== 'string' || !CLASS_NAME.test(c) || typeof i !== 'string' || !isObjectId(i)) throw malformed();
  if (n !== undefined && (typeof n !== 'string' || n.length > MAX_PASSED_NAME)) throw malformed();
  return { className: c, id: i, name: n };
}

// --- what an object sends ---

async function send(object: ObjectSockets, call: ServiceCall): Promise<ServiceReply> {
  const { body, work } = call;
  const isWhole = body === null || body instanceof Uint8Array;
  const most = object.maxMessageBytes + MORE_BYTES;
  try {
    await object.inOrder(isWhole, () => {
      if (isWhole) return entries(object, call, body === null ? NOTHING : asBuffer(body), most);
      return collect(body, most, work).then(collected => {
        try {
          entries(object, call, collected, most);
        } finally {
          work.countBytes(-collected.length);
        }
      });
    });
  } finally {
    object.forgetIfUnused();
  }
  return { head: null };
}

function entries(object: ObjectSockets, call: ServiceCall, body: Buffer, most: number): void {
  if (body.length > most) throw malformed();
  let failure: unknown;
  let count = 0;
  for (let at = 0; at < body.length; count++) {
    if (body.length - at < ENTRY_HEAD_BYTES) throw malformed();
    const number = body.readUInt32LE(at);
    const kind = body.readUInt8(at + 4);
    const end = at + ENTRY_HEAD_BYTES + body.readUInt32LE(at + 5);
    if (end > body.length) throw malformed();
    const record = body.subarray(at + ENTRY_HEAD_BYTES - RECORD_HEAD_BYTES, end);
    try {
      entry(object, call, number, kind, record, body.length);
    } catch (error) {
      failure ??= error;
    }
    at = end;
  }
  call.work.charge(count * ENTRY_MS + costOf(body.length, HOST_COSTS.movedMbMs));
  if (failure !== undefined) throw failure;
}

/** @param record kind, length and payload */
function entry(
  object: ObjectSockets,
  call: ServiceCall,
  number: number,
  kind: number,
  record: Buffer,
  bodyBytes: number,
): void {
  const payload = record.subarray(RECORD_HEAD_BYTES);
  switch (kind) {
    case RecordKind.Text:
    case RecordKind.Binary:
    case RecordKind.Close:
      // The unsent bytes of a slow client would keep all of the body.
      object.sockets.get(number)?.send(record.length * 2 < bodyBytes ? Buffer.from(record) : record);
      return;
    case SocketEntry.Accept:
      accept(object, call, number, payload);
      return;
    case SocketEntry.Attachment: {
      if (payload.length > SOCKET_LIMITS.attachmentBytes) throw malformed();
      const socket = object.sockets.get(number);
      if (socket !== undefined) socket.attachment = payload.length === 0 ? undefined : Buffer.from(payload);
      return;
    }
    case SocketEntry.AutoResponse:
      object.autoResponse = payload.length === 0 ? undefined : autoResponseOf(payload);
      return;
    case SocketEntry.EventTimeout:
      if (payload.length !== 4 || payload.readUInt32LE(0) > SOCKET_LIMITS.eventTimeoutMs) throw malformed();
      object.eventTimeoutMs = payload.readUInt32LE(0);
      return;
    default:
      throw malformed();
  }
}

function accept(object: ObjectSockets, { origin }: ServiceCall, number: number, payload: Buffer): void {
  if (!isCallingOrigin(origin) || payload.length > ACCEPT_BYTES) throw malformed();
  const { t: tags }: Readonly<Record<string, unknown>> = parse(payload);
  if (!Array.isArray(tags) || tags.length > SOCKET_LIMITS.tags) throw malformed();
  const checked = tags.map((tag: unknown) => {
    if (typeof tag !== 'string' || tag.length > SOCKET_LIMITS.tagLength) throw malformed();
    return tag;
  });
  const socket = new SleepingSocket(number, object, checked);
  object.add(socket);
  origin.peer.whenOver(() => socket.dropUnlessTaken());
}

function parse(payload: Buffer): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(payload.toString('utf8'));
  } catch {
    throw malformed();
  }
  if (!isObject(value)) throw malformed();
  return value;
}

function autoResponseOf(payload: Buffer): { readonly request: string; readonly response: string } {
  if (payload.length < 2) throw malformed();
  const length = payload.readUInt16LE(0);
  const most = SOCKET_LIMITS.autoResponseBytes;
  if (length > most || payload.length < 2 + length || payload.length - 2 - length > most) throw malformed();
  return {
    request: payload.subarray(2, 2 + length).toString('utf8'),
    response: payload.subarray(2 + length).toString('utf8'),
  };
}

async function collect(
  body: Exclude<ServiceBody, Uint8Array>,
  most: number,
  work: ServiceCall['work'],
): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const chunk of body) {
      length += chunk.byteLength;
      work.countBytes(chunk.byteLength);
      if (length > most) throw malformed();
      chunks.push(chunk);
    }
  } catch (error) {
    work.countBytes(-length);
    throw error;
  }
  return Buffer.concat(chunks);
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

// --- what an object begins with ---

async function list(object: ObjectSockets | undefined, { body, work }: ServiceCall): Promise<ServiceReply> {
  cancelBody(body);
  const auto = object?.autoResponse;
  const head: ListedSockets = {
    p: auto === undefined ? null : [auto.request, auto.response],
    t: object?.eventTimeoutMs ?? 0,
  };
  if (object === undefined || object.sockets.size === 0) return { head };
  // A copy of the current ones: a socket that is closed during the sending has an event of its own.
  const sockets = [...object.sockets.values()];
  work.charge(sockets.length * ENTRY_MS);
  return { head, body: listing(sockets) };
}

async function* listing(sockets: readonly SleepingSocket[]): AsyncGenerator<Uint8Array> {
  let parts: Buffer[] = [];
  let bytes = 0;
  for (const { id, tags, attachment, answeredMs } of sockets) {
    const listed: ListedSocket = { s: id, t: tags, a: answeredMs };
    const json = Buffer.from(JSON.stringify(listed));
    const head = Buffer.allocUnsafe(LISTED_HEAD_BYTES);
    head.writeUInt32LE(json.length, 0);
    head.writeUInt32LE(attachment?.length ?? NO_ATTACHMENT, 4);
    parts.push(head, json);
    bytes += LISTED_HEAD_BYTES + json.length + (attachment?.length ?? 0);
    if (attachment !== undefined) parts.push(attachment);
    if (bytes < CHUNK_BYTES) continue;
    yield Buffer.concat(parts);
    parts = [];
    bytes = 0;
  }
  if (bytes > 0) yield Buffer.concat(parts);
}

// --- functions as clients ---

/** The function that was handed the socket speaks by the bodies of this call. */
async function join({ args, body, origin, work, signal }: ServiceCall): Promise<ServiceReply> {
  const number: unknown = isObject(args) ? args.w : undefined;
  const socket = isCallingOrigin(origin) && typeof number === 'number' ? takeHanded(origin.peer, number) : undefined;
  if (socket === undefined) {
    cancelBody(body);
    throw new TypeError('The WebSocket is not there any more');
  }
  const link = new OutgoingLink(
    owner => {
      let end: PairedEnd | undefined;
      socket.connect(sleeping => {
        end = new PairedEnd(sleeping, owner, socket.object.work, socket.object.maxMessageBytes);
        return end;
      });
      if (end === undefined) throw malformed();
      return end.far;
    },
    body,
    work,
    signal,
    () => {},
  );
  return { head: null, body: { [Symbol.asyncIterator]: () => link }, isOpen: true };
}

function malformed(): TypeError {
  return new TypeError('The call of the WebSockets of an object is malformed');
}

const NOTHING = Buffer.alloc(0);
