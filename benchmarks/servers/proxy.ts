/** Hands each request on to the origin that is given as the first argument, and its answer back. */
import { Agent, request as ask } from 'node:http';
import process from 'node:process';
import { listen } from './listen.js';

const [origin = ''] = process.argv.slice(2);
const agent = new Agent({ keepAlive: true });

listen((incoming, outgoing) => {
  const { method, headers } = incoming;
  const onward = ask(origin, { method, headers, agent }, answer => {
    outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(outgoing);
  });
  onward.on('error', () => outgoing.destroy());
  incoming.pipe(onward);
});
