/** WebSockets of `edgehost serve` and `edgehost dev` when they are stopped. */
import { once } from 'node:events';
import test, { type ExecutionContext } from 'ava';
import { connected } from '../host/ingress/websocket/servers.js';
import { folderOf, Program } from './program.js';

const SOURCE = `import { StatefulObject } from 'edgehost:workers';
export class Room extends StatefulObject {
  fetch() {
    const [client, server] = Object.values(new WebSocketPair());
    this.ctx.acceptWebSocket(server);
    return new Response(null, { status: 101, webSocket: client });
  }
}
export default { fetch(request, env) {
  if (new URL(request.url).pathname === '/sleeping') return env.ROOM.getByName('a').fetch(request);
  const [client, server] = Object.values(new WebSocketPair());
  server.accept();
  return new Response(null, { status: 101, webSocket: client });
} };`;

const FILES = {
  'server.toml': 'port = 0\nstorage = "data"\ndrain_ms = 100000\n[[accounts]]\nid = "acme"\nfunctions = ["site"]\n',
  'site/edgehost.toml':
    'name = "site"\nmain = "index.js"\nroutes = ["*/*"]\n[[stateful_objects]]\nbinding = "ROOM"\nclass = "Room"\n',
  'site/index.js': SOURCE,
};

const closes = test.macro(async (t: ExecutionContext, args: readonly string[]) => {
  t.timeout(240_000);
  const cwd = await folderOf(t, FILES);
  const program = new Program(t, [...args, '--json'], { cwd });
  const url = (await program.url()).replace('http:', 'ws:');
  const sockets = [await connected(t, `${url}/accepted`), await connected(t, `${url}/sleeping`)];
  const closed = sockets.map(async socket => (await once(socket, 'close'))[0]);
  const ended = program.stop();
  // The drain would take longer than the test may.
  t.deepEqual(await Promise.all(closed), [1001, 1001]);
  t.is((await ended).code, 0);
});

test('edgehost serve closes WebSockets with 1001 when it is stopped, before it waits for anything', closes, [
  'serve',
  'server.toml',
]);
test('edgehost dev closes WebSockets with 1001 when it is stopped', closes, ['dev', 'site', '--port', '0']);
