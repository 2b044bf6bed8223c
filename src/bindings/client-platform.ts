/** The parts of its realm, the function's or the application's, that the client of a binding uses. */

/** The part of a ReadableStream that clients use. */
export interface ClientStream {
  readonly locked: boolean;
  getReader(): {
    read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }>;
    cancel(reason?: unknown): Promise<void>;
    releaseLock(): void;
  };
}

interface StreamController {
  readonly byobRequest?: { respond(bytesWritten: number): void } | null;
  enqueue(chunk: Uint8Array): void;
  close(): void;
}

/** The body of an answer: all of it, or a stream. */
export interface ClientReply<Stream extends ClientStream> {
  readonly head: unknown;
  readonly body?: Uint8Array | Stream | null;
}

export interface ClientPlatform<Stream extends ClientStream, BlobType> {
  /**
   * Calls the service of the binding. `args` is plain data. `body` is borrowed until the promise settles; the bytes of the answer belong to the client.
   * `lengthOf` finds in the head how long the body of the answer is: a stream with another length fails. Rejects with an error of the client's realm.
   */
  readonly call: (
    method: string,
    args: unknown,
    body: string | Uint8Array | Stream | null,
    lengthOf?: (head: unknown) => number | undefined,
  ) => Promise<ClientReply<Stream>>;
  readonly ReadableStream: new (
    source: { type: 'bytes'; pull(controller: StreamController): void; cancel(): void },
    strategy: { highWaterMark: number },
  ) => Stream;
  readonly Blob: new (parts: Uint8Array<ArrayBuffer>[], options: { type: string }) => BlobType;
  readonly TextDecoder: new () => { decode(bytes: Uint8Array): string };
  /** Whether the stream was read from or cancelled. */
  readonly isDisturbed: (stream: Stream) => boolean;
}
