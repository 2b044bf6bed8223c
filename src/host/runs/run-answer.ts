/** The answer of a run, which a cell has written: its body is bounded, and so is its hint. */
import type { ServiceBody } from '../../bindings/service.js';

/** The isolate has written it. */
const MAX_HINT_CHARACTERS = 500;

export function hintIn(head: string): string | undefined {
  const parsed: unknown = JSON.parse(head); // checked to be JSON
  const hint = typeof parsed === 'object' && parsed !== null && 'h' in parsed ? parsed.h : undefined;
  return typeof hint === 'string' ? hint.slice(0, MAX_HINT_CHARACTERS) : undefined;
}

export function boundedBody(body: ServiceBody, most: number, exceeded: (bytes: number) => Error): ServiceBody {
  if (body instanceof Uint8Array) {
    if (body.byteLength > most) throw exceeded(body.byteLength);
    return body;
  }
  return boundedChunks(body, most, exceeded);
}

async function* boundedChunks(
  body: AsyncIterable<Uint8Array>,
  most: number,
  exceeded: (bytes: number) => Error,
): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    if (bytes > most) throw exceeded(bytes);
    yield chunk;
  }
}
