/** A peer behind HTTP. Arguments: its name, the folder of its packages, the source of the function. */
import process from 'node:process';
import { PEERS } from '../peers/peers.js';
import { listen } from './listen.js';

const [name, folder = '', source = ''] = process.argv.slice(2);
const peer = PEERS.find(known => known.name === name);
if (peer === undefined) throw new Error(`There is no peer "${name}"`);
const fn = await peer.load(folder, source);
if (fn.url === undefined) {
  listen((request, response) => {
    fn.call(`http://${request.headers.host}${request.url}`).then(
      text => {
        response.writeHead(200, {
          'content-type': 'text/plain;charset=UTF-8',
          'content-length': Buffer.byteLength(text),
        });
        response.end(text);
      },
      (error: unknown) => response.destroy(error instanceof Error ? error : undefined),
    );
  });
} else {
  process.once('disconnect', () => void fn.close().finally(() => process.exit(0)));
  process.send?.({ port: Number(new URL(fn.url).port) });
}
