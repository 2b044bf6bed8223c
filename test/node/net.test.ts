import test from 'ava';
import type { EdgeHostOptions } from '../../src/index.js';
import { serverTls, tcpServer } from '../bindings/socket/tcp-servers.js';
import { CERTIFICATE } from '../certificate.js';
import { ISOLATIONS, newHost, textOf } from '../host/new-host.js';
import { sameAsNode } from './same-as-node.js';

const ALLOWED: EdgeHostOptions = {
  egress: { allow: ['127.0.0.0/8'], ca: CERTIFICATE, resolve: async () => ['127.0.0.1'] },
};

test('the checks of net answer as Node', async t => {
  await sameAsNode(
    t,
    "import net, { isIP, isIPv4, isIPv6 } from 'node:net';",
    `for (const text of ['1.2.3.4', '1.2.3', '256.1.1.1', '01.2.3.4', '::', '::1', '1::2', ':::', '1:2:3:4:5:6:7:8', '1:2:3:4:5:6:7', '1:2:3:4:5:6:7::', '::ffff:1.2.3.4',
       'fe80::1%eth0', '12345::', 'g::', '', '1:2', '::1.2.3', '1:2:3:4:5:6:1.2.3.4']) print(text, isIP(text), isIPv4(text), isIPv6(text));
     print(net.createConnection === net.connect, net.Stream === net.Socket, net.getDefaultAutoSelectFamily());
     const socket = new net.Socket();
     print(socket.connecting, socket.destroyed, socket.bytesRead, socket.readyState === 'open', socket.address(), net.Socket() instanceof net.Socket);
     print(socket.setNoDelay() === socket, socket.setKeepAlive(true) === socket, socket.unref() === socket, socket.setTimeout(0) === socket);
     attempt(() => net.connect(70000)); attempt(() => net.connect({ host: 'a' })); attempt(() => net.connect({ port: 1, host: 1 })); attempt(() => socket.setTimeout('x'));`,
  );
});

const CLIENT = `
import net from 'node:net';
import tls from 'node:tls';
import { AsyncLocalStorage } from 'node:async_hooks';
const storage = new AsyncLocalStorage();
const failure = socket => new Promise(done => socket.on('error', done));
const upgraded = async port => {
  const below = net.connect(port, 'secure.example');
  below.write('STARTTLS');
  await new Promise(done => below.once('data', done));
  const socket = tls.connect({ socket: below, servername: 'secure.example' });
  await new Promise((done, fail) => socket.on('secureConnect', done).on('error', fail));
  socket.end('secret');
  let text = '';
  for await (const chunk of socket) text += chunk;
  return [text, socket.encrypted, socket.authorized];
};
const acts = {
  async echo(port) {
    const events = [];
    return storage.run('context', () => new Promise((done, fail) => {
      const socket = net.connect({ port, host: '127.0.0.1' }, () => events.push('connected ' + storage.getStore()));
      let text = '';
      socket.setEncoding('utf8');
      socket.on('data', chunk => { text += chunk; });
      socket.on('end', () => events.push('end'));
      socket.on('error', fail);
      socket.on('close', hadError => done([text.length, text.slice(-4), events, hadError, socket.bytesWritten, socket.bytesRead, socket.remoteAddress, socket.remotePort === port, storage.getStore()]));
      for (let i = 0; i < 20; i++) socket.write('x'.repeat(10_000));
      socket.end(Buffer.from('last'));
    }));
  },
  async timeout(port) {
    const socket = net.connect(port, '127.0.0.1');
    await new Promise(done => socket.setTimeout(30, done));
    socket.destroy();
    return [socket.destroyed, socket.readyState];
  },
  async refused(port) {
    const error = await failure(net.connect(port, '10.0.0.1'));
    const options = [];
    for (const act of [() => net.connect('/a/socket'), () => net.connect({ port: 1, localAddress: '1.2.3.4' }), () => net.createServer(),
      () => tls.connect({ port: 1, rejectUnauthorized: false }), () => tls.connect({ port: 1, ca: 'x' }), () => tls.createServer()]) {
      try { act(); options.push('none'); } catch (error) { options.push(error.code); }
    }
    return [error.code, options];
  },
  async tls(port) {
    const socket = tls.connect(port, 'secure.example');
    await new Promise((done, fail) => socket.on('secureConnect', done).on('error', fail));
    socket.end('hidden');
    let text = '';
    for await (const chunk of socket) text += chunk;
    const wrong = await failure(tls.connect(port, 'other.example'));
    return [text, socket.authorized, socket instanceof net.Socket, typeof wrong.message];
  },
  upgraded,
};
export default { async fetch(request) {
  const { pathname, searchParams } = new URL(request.url);
  return Response.json(await acts[pathname.slice(1)](Number(searchParams.get('port'))));
} };`;

for (const isolation of ISOLATIONS) {
  test(`sockets of net and tls work over connect(), isolation ${isolation}`, async t => {
    const fn = await newHost(t, { ...ALLOWED, isolation }).load(CLIENT);
    const act = async (name: string, port: number): Promise<unknown> =>
      JSON.parse(await textOf(fn.fetch(`http://x/${name}?port=${port}`)));
    const echo = await tcpServer(t, socket => void socket.pipe(socket));
    t.deepEqual(await act('echo', echo), [
      200_004,
      'last',
      ['connected context', 'end'],
      false,
      200_004,
      200_004,
      '127.0.0.1',
      true,
      'context',
    ]);
    const silent = await tcpServer(t, socket => void socket.resume());
    t.deepEqual(await act('timeout', silent), [true, 'closed']);
    const [code, codes] = (await act('refused', silent)) as [string, string[]]; // as the function answers
    t.is(code, 'EDGE_EGRESS_DENIED');
    t.deepEqual(codes, Array.from({ length: 6 }).fill('EDGE_NOT_SUPPORTED'));
    const secure = await tcpServer(t, socket => {
      const secured = serverTls(socket);
      secured.pipe(secured);
    });
    t.deepEqual(await act('tls', secure), ['hidden', true, true, 'string']);
    const starting = await tcpServer(t, socket => {
      socket.once('data', () => {
        socket.write('go');
        const secured = serverTls(socket);
        secured.pipe(secured);
      });
    });
    t.deepEqual(await act('upgraded', starting), ['secret', true, true]);
  });
}
