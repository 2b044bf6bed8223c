/** Clients that connect to a server at once, send a request each and keep the connection: prints how many were answered with 200. */
import { once } from 'node:events';
import { connect } from 'node:net';
import process from 'node:process';

const [port = '', count = ''] = process.argv.slice(2);

const answers = Array.from({ length: Number(count) }, async () => {
  const socket = connect(Number(port), '127.0.0.1');
  socket.on('error', () => {});
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  // A connection that is reset is one without an answer.
  const [answer] = await Promise.race([once(socket, 'data'), once(socket, 'close')]).catch(() => ['']);
  return String(answer).startsWith('HTTP/1.1 200 ');
});
const all = await Promise.all(answers);
process.stdout.write(String(all.filter(isAnswered => isAnswered).length), () => process.exit());
