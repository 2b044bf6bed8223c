/** Over TCP: answers `send N` in one line with N bytes, and anything else with the number of bytes that came. */
import { createServer } from 'node:net';
import process from 'node:process';
import { Readable } from 'node:stream';
import { byteStream } from '../measuring/byte-stream.js';

const server = createServer({ allowHalfOpen: true }, socket => {
  socket.on('error', () => socket.destroy());
  socket.once('data', first => {
    const wanted = /^send (\d+)\n/.exec(first.toString('latin1', 0, 32))?.[1];
    if (wanted !== undefined) {
      Readable.fromWeb(byteStream(Number(wanted))).pipe(socket);
      return;
    }
    let bytes = first.length;
    socket.on('data', chunk => {
      bytes += chunk.length;
    });
    socket.once('end', () => socket.end(String(bytes)));
  });
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  process.send?.({ port, children: [] });
});
process.once('disconnect', () => process.exit(0));
