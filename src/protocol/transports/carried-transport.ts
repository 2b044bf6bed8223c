/** A connection whose bytes are the bodies of an exchange of another connection. */
import type { Exchange } from '../exchange.js';
import type { Transport, TransportReader } from './transport.js';

const READ_BYTES = 64 * 1024;
const IGNORE = (): void => {};

export function carriedTransport(exchange: Exchange): Transport {
  let reader: TransportReader | undefined;
  let isPaused = false;
  let isClosed = false;
  const close = (): void => {
    if (isClosed) return;
    isClosed = true;
    reader?.onClose();
  };
  const read = (): void => {
    while (!isPaused && !isClosed) {
      const chunk = exchange.read(READ_BYTES);
      if (chunk === undefined) break;
      reader?.onRead(chunk);
    }
    if (!isPaused && exchange.incoming !== 'open') close();
  };
  exchange.listener = {
    onReply: IGNORE,
    onData: read,
    onCredit: () => reader?.onDrain(),
    onSent: IGNORE,
    onStop: close,
    onFail: close,
  };
  return {
    get isBackpressured() {
      return exchange.credit <= 0;
    },
    // The carrying connection counts the bytes that wait for credit.
    unwrittenBytes: 0,
    start(listener) {
      reader = listener;
    },
    write(parts) {
      for (const part of parts) if (part.length > 0) exchange.write(part);
    },
    pause() {
      isPaused = true;
    },
    resume() {
      if (!isPaused) return;
      isPaused = false;
      read();
    },
    close() {
      exchange.fail('The connection is closed');
      close();
    },
  };
}
