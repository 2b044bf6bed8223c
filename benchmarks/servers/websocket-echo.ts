/** A bare WebSocket server, by the package that the host uses too: sends back what it receives. */
import { WebSocketServer } from 'ws';
import { listen } from './listen.js';

const sockets = new WebSocketServer({ noServer: true, perMessageDeflate: false });
listen((_request, response) => void response.end(), {
  upgrade: (request, socket, head) =>
    sockets.handleUpgrade(request, socket, head, ws => {
      ws.on('message', (data, binary) => ws.send(data, { binary }));
    }),
});
