/** The parts of this realm that the clients of bindings use: calls of their service, and classes. */
import type { ClientPlatform } from '../../bindings/client-platform.ts';
import type { ServiceId } from '../../quotas/service-calls.ts';
import { BINDINGS } from '../bindings.ts';
import { type BodyToSend, goesWhole, takeOutgoing } from '../body-out.ts';
import { callService } from '../call-service.ts';
import type { HostBody } from '../host-body.ts';
import { ErrorCtor, jsonParse, jsonStringify, PromiseCtor } from '../primordials.ts';
import { rejection } from '../rejection.ts';
import { requireHandler } from '../scope.ts';
import { copyOf } from '../web/base/buffers.ts';
import { TextDecoder } from '../web/encoding/encoding.ts';
import { Body, extractBody, streamOf } from '../web/fetch/body.ts';
import { Blob } from '../web/file/blob.ts';
import { isDisturbed, isReadableStream, ReadableStream } from '../web/streams/streams.ts';

type Payload = string | Uint8Array | ReadableStream | null;

interface Reply {
  readonly head: unknown;
  readonly body: Uint8Array | ReadableStream | null;
}

/** The object that the function finds in its environment under the name of the binding. */
export function createBinding(service: ServiceId, name: string, config: unknown): object {
  for (let i = 0; i < BINDINGS.length; i++) {
    const row = BINDINGS[i];
    if (row?.service === service) return row.create(platformOf(service, name), name, config);
  }
  throw new ErrorCtor(`There are no bindings of service ${service} in this realm`);
}

/** The parts of this realm for the client of one binding. */
export function platformOf(service: ServiceId, name: string): ClientPlatform<ReadableStream, Blob> {
  return {
    call: (method, args, body, lengthOf) => call(service, name, method, args, body, lengthOf),
    ReadableStream,
    Blob: Blob as new (parts: Uint8Array<ArrayBuffer>[], options: { type: string }) => Blob, // a narrower constructor
    TextDecoder,
    isDisturbed,
  };
}

function call(
  service: ServiceId,
  binding: string,
  method: string,
  args: unknown,
  body: Payload,
  lengthOf: ((head: unknown) => number | undefined) | undefined,
): Promise<Reply> {
  return new PromiseCtor(resolve => {
    requireHandler(`${binding}.${method}()`);
    callService(service, method, binding, jsonStringify(args), outgoing(body), {
      onReply: (text, replyBody) => {
        const head: unknown = jsonParse(text);
        if (replyBody !== null && !replyBody.isComplete) replyBody.expectedSize = lengthOf?.(head);
        resolve({ head, body: incoming(replyBody) });
      },
      onFailed: (makeError, site) => resolve(rejection(makeError, site)),
    });
  });
}

function outgoing(body: Payload): BodyToSend | null {
  if (body === null || typeof body === 'string') return body;
  // A stream that comes from the host, such as a request's body, goes back to it without passing this realm.
  if (isReadableStream(body)) return takeOutgoing(extractBody(body).body);
  // A copy, since the caller may change the bytes before the last of them is sent.
  return goesWhole(body) ? body : copyOf(body);
}

function incoming(body: HostBody | null): Uint8Array | ReadableStream | null {
  if (body === null) return null;
  return body.isComplete ? body.bytes() : streamOf(new Body(body));
}
