/** The parts of its realm that the client of a bucket uses. */
import type { ClientPlatform, ClientReply, ClientStream } from '../../client-platform.js';
import type { BucketWireArguments } from './calls.js';

export interface ClientHeaders {
  get(name: string): string | null;
  set(name: string, value: string): void;
}

/** The platform of any client, with the methods of a bucket. */
export interface BucketPlatform<Stream extends ClientStream, BlobType>
  extends Omit<ClientPlatform<Stream, BlobType>, 'call'> {
  readonly call: <Method extends keyof BucketWireArguments>(
    method: Method,
    args: BucketWireArguments[Method],
    body: string | Uint8Array | Stream | null,
    lengthOf?: (head: unknown) => number | undefined,
  ) => Promise<ClientReply<Stream>>;
}
