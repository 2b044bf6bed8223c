/** Many bytes without holding them: made as they are asked for, counted as they come. */

const CHUNK = new Uint8Array(64 * 1024).fill(0x61);

/** A stream of `bytes` bytes, in chunks of 64 KiB. `onAsked` is called for each. */
export function byteStream(bytes: number, onAsked: (bytes: number) => void = () => {}): ReadableStream<Uint8Array> {
  let left = bytes;
  return new ReadableStream<Uint8Array>({
    pull(controller) {
      const chunk = left < CHUNK.length ? CHUNK.slice(0, left) : CHUNK.slice();
      left -= chunk.length;
      onAsked(chunk.length);
      if (chunk.length > 0) controller.enqueue(chunk);
      if (left === 0) controller.close();
    },
  });
}

/** Reads to the end. Rejects when there are not as many bytes as expected. */
export async function drain(body: AsyncIterable<Uint8Array> | null | undefined, bytes: number): Promise<void> {
  let count = 0;
  for await (const chunk of body ?? []) count += chunk.length;
  if (count !== bytes) throw new Error(`A body of ${bytes} bytes came with ${count}`);
}
