/** The counter as functions and the application see it. */
import type { ClientPlatform, ClientStream } from '../../../src/bindings/client-platform.js';

export function createCounterClient<Stream extends ClientStream, BlobType>({ call }: ClientPlatform<Stream, BlobType>) {
  const total = async (method: string, args: unknown, body: string | Uint8Array | Stream | null): Promise<number> =>
    Number((await call(method, args, body)).head);
  return {
    /** Answers the new total. */
    add: (by: number): Promise<number> => total('add', { by }, null),
    /** Counts the bytes of a body. */
    addBytes: (body: string | Uint8Array | Stream): Promise<number> => total('addBytes', {}, body),
    /** The numbers from 1 to the total, a line each; as a stream. */
    lines: async (): Promise<Uint8Array | Stream | null> => (await call('lines', {}, null)).body ?? null,
  };
}
