/** Bucket bindings: the bucket client in this realm, over calls of the bucket service in the host process. */
import { type BucketClient, createBucketClient } from '../../bindings/bucket/client.ts';
import { Op, ServiceId } from '../ops/table.ts';
import { MAX_WHOLE_BYTES, sendBytes, sendStream } from './body-out.ts';
import { type CallReply, openCall } from './calls.ts';
import { HostBody } from './host-body.ts';
import { jsonParse, jsonStringify, PromiseCtor, typedArrayLength } from './primordials.ts';
import { requireHandler } from './scope.ts';
import { copyOf } from './web/base/buffers.ts';
import { TextDecoder } from './web/encoding/encoding.ts';
import { Body, bytesOf, extractBody, streamOf, takeSource } from './web/fetch/body.ts';
import { Blob } from './web/file/blob.ts';
import { isDisturbed, isReadableStream, ReadableStream } from './web/streams/streams.ts';

type Payload = string | Uint8Array | ReadableStream | null;

interface Reply {
  readonly head: unknown;
  readonly body: Uint8Array | ReadableStream | null;
}

export function createBucketBinding(name: string): BucketClient<ReadableStream, Blob> {
  return createBucketClient<ReadableStream, Blob>({
    call: (method, args, body) => call(name, method, args, body),
    ReadableStream,
    Blob: Blob as new (parts: Uint8Array<ArrayBuffer>[], options: { type: string }) => Blob, // a narrower constructor
    TextDecoder,
    isDisturbed,
  });
}

function call(bucket: string, method: string, args: unknown, body: Payload): Promise<Reply> {
  return new PromiseCtor((resolve, reject) => {
    requireHandler(`${bucket}.${method}()`);
    const head = `${method}\n${bucket}\n${jsonStringify(args)}`;
    send(head, body, {
      onReply: (replyHead, replyBody) => resolve({ head: jsonParse(replyHead), body: toBody(replyBody) }),
      onFailed: reject,
    });
  });
}

function send(head: string, body: Payload, reply: CallReply): void {
  if (body === null || typeof body === 'string') {
    openCall(Op.Call, ServiceId.Bucket, head, body ?? undefined, reply);
  } else if (!isReadableStream(body)) {
    if (typedArrayLength(body) <= MAX_WHOLE_BYTES) openCall(Op.CallBytes, ServiceId.Bucket, head, body, reply);
    // A copy, since the caller may change the bytes before the last of them is sent.
    else sendBytes(copyOf(body), openCall(Op.CallStream, ServiceId.Bucket, head, undefined, reply).exchange);
  } else {
    const extracted = extractBody(body).body;
    const source = takeSource(extracted);
    const { exchange } = openCall(Op.CallStream, ServiceId.Bucket, head, undefined, reply);
    // A stream that comes from the host, such as a request's body, goes back to it without passing this realm.
    if (source instanceof HostBody) source.pipeTo(exchange);
    else if (source === undefined) sendStream(body, exchange);
    else sendBytes(bytesOf(source), exchange);
  }
}

function toBody(body: HostBody | null): Uint8Array | ReadableStream | null {
  if (body === null) return null;
  return body.isComplete ? body.bytes() : streamOf(new Body(body));
}
