/** Sends bodies of this realm to the host: whole where they are small, else piece by piece as fast as the other side takes them. */
import { HostSink } from './host-body.ts';
import { stringSlice, typedArrayLength, typedArraySubarray } from './primordials.ts';
import { ByteReader, type ReadableStream } from './web/streams/streams.ts';

/** A larger body is not handed over at once, so that its copy on the host's side stays small. */
export const MAX_WHOLE_BYTES = 1024 * 1024;

/** The most that one write carries. */
const MAX_PIECE_BYTES = 128 * 1024;

/** Writes to the end of the stream. Never rejects: a failure of the stream reaches the other side as one of the body. */
export async function sendStream(stream: ReadableStream, exchange: number): Promise<void> {
  const sink = new HostSink(exchange);
  const reader = new ByteReader(stream);
  sink.onStop = reason => reader.cancel(reason);
  try {
    for (let chunk = await reader.next(); chunk !== undefined; chunk = await reader.next()) await writeAll(sink, chunk);
    sink.end();
  } catch (error) {
    fail(sink, error);
    reader.cancel(error);
  }
}

/** Writes bytes that are all there. Never rejects. */
export async function sendBytes(bytes: Uint8Array, exchange: number): Promise<void> {
  const sink = new HostSink(exchange);
  try {
    await writeAll(sink, bytes);
    sink.end();
  } catch (error) {
    fail(sink, error);
  }
}

async function writeAll(sink: HostSink, bytes: Uint8Array): Promise<void> {
  const length = typedArrayLength(bytes);
  if (length > 0 && length <= MAX_PIECE_BYTES) {
    await sink.write(bytes);
    return;
  }
  for (let at = 0; at < length; at += MAX_PIECE_BYTES) {
    await sink.write(typedArraySubarray(bytes, at, at + MAX_PIECE_BYTES));
  }
}

function fail(sink: HostSink, error: unknown): void {
  try {
    sink.fail(describeBriefly(error));
  } catch {
    // The exchange is over; nobody is left to be told.
  }
}

/** "Name: message" of anything, without trusting it. */
function describeBriefly(error: unknown): string {
  try {
    return stringSlice(`${error}`, 0, 1000);
  } catch {
    return 'The body failed';
  }
}
