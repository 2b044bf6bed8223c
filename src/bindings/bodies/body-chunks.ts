import type { ServiceBody } from '../service.js';

/** The chunks of a body. One that is there as a whole is a single chunk. */
export function bodyChunks(body: ServiceBody | null): AsyncIterator<Uint8Array> {
  return (body === null || body instanceof Uint8Array ? single(body) : body)[Symbol.asyncIterator]();
}

async function* single(bytes: Uint8Array | null): AsyncGenerator<Uint8Array> {
  if (bytes !== null) yield bytes;
}
