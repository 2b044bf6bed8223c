/**
 * The work of the function of the suite `sockets`, without a host: GET answers with what the TCP server at the port that is the first argument sends,
 * POST sends it the body.
 */
import { connect } from 'node:net';
import process from 'node:process';
import { listen } from './listen.js';

const [port = '', bytes = ''] = process.argv.slice(2);

listen((incoming, outgoing) => {
  const socket = connect(Number(port), '127.0.0.1');
  socket.on('error', () => outgoing.destroy());
  if (incoming.method === 'POST') incoming.pipe(socket);
  else socket.write(`send ${bytes}\n`);
  socket.pipe(outgoing);
});
