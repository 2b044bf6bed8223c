/** Clients that hold what they can: connections that are never ended, closes that are never answered, floods of frames, and answers that are not read. */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import net from 'node:net';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import process from 'node:process';
import { Duplex } from 'node:stream';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import { SocketBridge } from '../../../../src/bindings/websocket/socket-bridge.js';
import { SOCKET_BOUNDS } from '../../../../src/bindings/websocket/ws-options.js';
import { loadWs, switchProtocols } from '../../../../src/host/ingress/websocket/handshake.js';
import type { EdgeHost } from '../../../../src/index.js';
import { portOf } from '../../../servers.js';
import { newHost, textOf } from '../../new-host.js';
import { accepting } from './servers.js';

/** The clients of each kind. The whole storm is for the machine of a night: EDGEHOST_TEST_SOCKETS=10000. */
const SOCKETS = Number(process.env.EDGEHOST_TEST_SOCKETS ?? 100);
const MEBIBYTE = 1024 * 1024;

// Before the first socket is made.
SOCKET_BOUNDS.closeMs = 400;

async function serving(t: ExecutionContext, host: EdgeHost): Promise<Server> {
  const listener = host.listener();
  const server = createServer(listener).on('upgrade', listener.upgrade).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return server;
}

function connectionsOf(server: Server): Promise<number> {
  return new Promise((resolve, reject) =>
    server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
  );
}

async function emptied(server: Server): Promise<void> {
  while ((await connectionsOf(server)) > 0) await new Promise(resolve => setTimeout(resolve, 20));
}

/** A client that answers neither a close nor the end of the connection. */
async function stubborn(t: ExecutionContext, server: Server, version = 13): Promise<net.Socket> {
  const socket = net.connect({ port: portOf(server), host: '127.0.0.1', allowHalfOpen: true });
  t.teardown(() => socket.destroy());
  socket.on('error', () => {}).on('data', () => {});
  socket.write(
    `GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: ${version}\r\nSec-WebSocket-Key: ${'a'.repeat(22)}==\r\n\r\n`,
  );
  await once(socket, 'data');
  return socket;
}

const CLOSING = accepting('server.onmessage = () => server.close(4000);');

test.serial('a client that never answers a close, of the function or of the host, is cut off', async t => {
  const host = newHost(t);
  await host.account('gone').load(CLOSING, { routes: ['*/*'] });
  const server = await serving(t, host);
  const asked = await stubborn(t, server);
  asked.write(Buffer.from('82810000000041', 'hex'));
  await emptied(server);
  await stubborn(t, server);
  await stubborn(t, server);
  t.is(await connectionsOf(server), 2);
  await host.removeAccount('gone');
  await emptied(server);
  t.pass();
});

test.serial('a client whose upgrade is refused, or answered with a response, does not keep the connection', async t => {
  const host = newHost(t);
  await host.load("export default { fetch: () => new Response('no', { status: 403 }) };", { routes: ['*/*'] });
  const server = await serving(t, host);
  for (const version of [1, 13]) await stubborn(t, server, version);
  await emptied(server);
  t.pass();
});

test.serial('a client that has ended its side and takes nothing is cut off, and nothing of it is held', async t => {
  await loadWs();
  let writes = 0;
  const socket = new Duplex({
    read: () => {},
    // The switch of protocols is taken, and nothing behind it.
    write: (_chunk, _encoding, taken) => {
      if (writes++ === 0) taken();
    },
  });
  const request = {
    method: 'GET',
    headers: { upgrade: 'websocket', 'sec-websocket-version': '13', 'sec-websocket-key': `${'a'.repeat(22)}==` },
  } as IncomingMessage; // what a handshake looks at
  const switched = switchProtocols(request, socket, Buffer.alloc(0), [], 1000);
  if (switched === undefined) return t.fail('no WebSocket');
  let held = 0;
  let drained = 0;
  const work = {
    owner: {},
    charge: () => {},
    turn: () => undefined,
    countBytes: (bytes: number) => {
      held += bytes;
    },
  };
  const ended = new Promise<number>(resolve => {
    const owner = { message: () => true, ended: resolve, drained: () => drained++ };
    const bridge = new SocketBridge({ ...switched, isServer: true }, work, 1000, owner);
    bridge.receive(Buffer.from('020100000041', 'hex'));
    bridge.resume();
  });
  t.true(held > 0);
  socket.push(null);
  // No connection of the network keeps this process alive here.
  const alive = setInterval(() => {}, 1000);
  t.teardown(() => clearInterval(alive));
  t.is(await ended, 1006);
  t.is(held, 0);
  t.is(drained, 0);
  t.true(socket.destroyed);
});

interface Crowd {
  readonly child: ChildProcessWithoutNullStreams;
  readonly connected: number;
}

async function crowd(t: ExecutionContext, server: Server, kind: string, count: number): Promise<Crowd> {
  const program = fileURLToPath(new URL('./programs/crowd.js', import.meta.url));
  const child = spawn(process.execPath, [program, `${portOf(server)}`, 'attacker.test', kind, `${count}`]);
  child.stderr.pipe(process.stderr);
  t.teardown(() => child.kill('SIGKILL'));
  const [line] = (await once(child.stdout, 'data')) as [Buffer]; // the event's own type
  return { child, connected: Number(line) };
}

/** What each kind leaves when all its clients are there, and what the host answers in place of more. */
const KINDS: readonly string[] = ['silent', 'half', 'refused', 'idle', 'ping', 'empty', 'parts', 'deaf'];

for (const kind of KINDS) {
  test.serial(
    `${SOCKETS} clients (${kind}): another account is answered, and what they held is given back`,
    async t => {
      t.timeout(600_000);
      const host = newHost(t, { hostBytes: 64 * MEBIBYTE, openInvocations: 20_000, warmCells: 1 });
      const source = accepting(`const big = new Uint8Array(64 * 1024);
      server.onmessage = ({ data }) => { if (data.byteLength === 1) server.send(big); };`);
      await host.account('attacker').load(source, { routes: ['attacker.test/*'] });
      const neighbour = await host
        .account('neighbour')
        .load("export default { fetch: () => new Response('innocent') };");
      t.is(await textOf(neighbour.fetch('http://x/')), 'innocent');
      const server = await serving(t, host);
      const restBytes = process.memoryUsage.rss();
      const restDescriptors = descriptors();
      const delay = monitorEventLoopDelay({ resolution: 10 });
      delay.enable();
      const before = process.cpuUsage();
      let slowestMs = 0;
      const ask = async (): Promise<void> => {
        const began = performance.now();
        t.is(await textOf(neighbour.fetch('http://x/')), 'innocent');
        slowestMs = Math.max(slowestMs, performance.now() - began);
        await new Promise(resolve => setTimeout(resolve, 50));
      };
      // While they come, and when all are there.
      let isThere = false;
      const coming = crowd(t, server, kind, SOCKETS).finally(() => {
        isThere = true;
      });
      while (!isThere) await ask();
      const { child, connected } = await coming;
      for (let n = 0; n < 10; n++) await ask();
      delay.disable();
      const { user, system } = process.cpuUsage(before);
      const open = await connectionsOf(server);
      const heldBytes = process.memoryUsage.rss() - restBytes;
      t.log(
        `${kind}: ${connected} connected, ${open} open, ${(heldBytes / MEBIBYTE).toFixed(0)} MiB more, ${descriptors() - restDescriptors} descriptors, ` +
          `CPU ${((user + system) / 1000).toFixed(0)} ms, loop p99 ${(delay.percentile(99) / 1e6).toFixed(0)} ms, slowest neighbour ${slowestMs.toFixed(0)} ms`,
      );
      t.is(connected, SOCKETS);
      // The account's share, and what a connection takes of Node (about 20 KiB) and the allocator keeps.
      t.true(heldBytes < 128 * MEBIBYTE + SOCKETS * 32 * 1024);
      if (kind === 'refused') await emptied(server);
      // Clients that are there still hold nothing of an account that is gone, whether they answer or not; node:http has those that it gave to nobody.
      await host.removeAccount('attacker');
      while (kind !== 'silent' && kind !== 'half' && (await connectionsOf(server)) > 0)
        await new Promise(resolve => setTimeout(resolve, 20));
      child.stdin.end();
      await emptied(server);
      t.pass();
    },
  );
}

function descriptors(): number {
  return process.platform === 'linux' ? readdirSync('/proc/self/fd').length : 0;
}
