/** Two ends of a connection within one thread. Bytes written at one are read at the other later, as over any connection, in their order. */
import type { Transport, TransportReader } from './transport.js';

export function loopback(): [Transport, Transport] {
  const readers: [TransportReader | undefined, TransportReader | undefined] = [undefined, undefined];
  const end = (own: 0 | 1, other: 0 | 1): Transport => ({
    isBackpressured: false,
    unwrittenBytes: 0,
    pause() {},
    resume() {},
    start(reader) {
      readers[own] = reader;
    },
    write(parts) {
      setImmediate(() => {
        for (const part of parts) readers[other]?.onRead(part);
      });
    },
    close() {
      setImmediate(() => readers[other]?.onClose());
    },
  });
  return [end(0, 1), end(1, 0)];
}
