/** What the client of a bucket needs of the realm that it is in. */
import type { WireArguments } from './calls.js';

/** What the client needs of a ReadableStream. */
export interface ClientStream {
  readonly locked: boolean;
  getReader(): {
    read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }>;
    cancel(reason?: unknown): Promise<void>;
    releaseLock(): void;
  };
}

export interface ClientHeaders {
  get(name: string): string | null;
  set(name: string, value: string): void;
}

interface StreamController {
  readonly byobRequest?: { respond(bytesWritten: number): void } | null;
  enqueue(chunk: Uint8Array): void;
  close(): void;
}

/** What the realm of the client has to give. */
export interface ClientPlatform<Stream extends ClientStream, BlobType> {
  /**
   * Does the call at the service. `args` is plain data. `body` is borrowed until the promise settles; the bytes of the
   * answer belong to the client. Rejects with an error of the client's realm.
   */
  readonly call: <Method extends keyof WireArguments>(
    method: Method,
    args: WireArguments[Method],
    body: string | Uint8Array | Stream | null,
  ) => Promise<{ readonly head: unknown; readonly body?: Uint8Array | Stream | null }>;
  readonly ReadableStream: new (
    source: { type: 'bytes'; pull(controller: StreamController): void; cancel(): void },
    strategy: { highWaterMark: number },
  ) => Stream;
  readonly Blob: new (parts: Uint8Array<ArrayBuffer>[], options: { type: string }) => BlobType;
  readonly TextDecoder: new () => { decode(bytes: Uint8Array): string };
  /** Whether the stream was read from or cancelled. */
  readonly isDisturbed: (stream: Stream) => boolean;
}
