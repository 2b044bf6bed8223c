/**
 * Carries a connection of an isolate to the backend process over the isolate's connection to the application: of one that lives longer than the process that it
 * was connected to, until it is replaced.
 */
import type { Socket } from 'node:net';
import type { Exchange } from '../../protocol/exchange.js';
import { guarded } from '../../quotas/guarded.js';

const READ_BYTES = 64 * 1024;
const IGNORE = (): void => {};

/** The end of either ends the other. The bytes between them are the exchange's, which its account is charged with, and one piece more. */
export function carry(exchange: Exchange, socket: Socket): void {
  const send = guarded((): void => {
    while (!socket.destroyed && !socket.writableNeedDrain) {
      const piece = exchange.read(READ_BYTES);
      if (piece === undefined) break;
      socket.write(piece);
    }
    if (exchange.incoming !== 'open') socket.destroy();
  });
  exchange.listener = {
    onReply: IGNORE,
    onData: send,
    onCredit: () => socket.resume(),
    onSent: IGNORE,
    onStop: () => socket.destroy(),
    onFail: () => socket.destroy(),
  };
  socket.on('drain', send);
  socket.on(
    'data',
    guarded((chunk: Buffer) => {
      if (exchange.write(chunk) <= 0) socket.pause();
    }),
  );
  socket.on(
    'close',
    guarded(() => {
      exchange.end();
      exchange.stopReading('The connection has ended');
    }),
  );
  exchange.reply(200, '', true, null, false);
  send();
  socket.resume();
}
