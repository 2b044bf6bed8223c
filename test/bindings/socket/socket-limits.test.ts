/** What sockets may reach, how many there may be, and what a cell that was taken over gets by calling for them as it likes. */
import type { Socket } from 'node:net';
import test from 'ava';
import type { FunctionContext } from '../../../src/bindings/binding.js';
import type { ServiceReply } from '../../../src/bindings/service.js';
import { Dialer } from '../../../src/bindings/socket/dialer.js';
import { type SocketShare, socketService } from '../../../src/bindings/socket/socket-service.js';
import type { EdgeHostOptions } from '../../../src/index.js';
import { resolveLimits } from '../../../src/quotas/resolve-limits.js';
import { ISOLATIONS, newHost, nextInvocation, textOf } from '../../host/new-host.js';
import { countedWork } from '../counted-work.js';
import { tcpServer } from './tcp-servers.js';

const LOOPBACK = { egress: { allow: ['127.0.0.0/8'] } } satisfies EdgeHostOptions;

const failuresOf = (addresses: readonly string[]): string => `import { connect } from 'edgehost:sockets';
  export default { async fetch() {
    const failures = [];
    for (const address of ${JSON.stringify(addresses)}) {
      failures.push(await connect(address).opened.then(() => 'opened', error => error.code + ' ' + error.message));
    }
    return Response.json(failures);
  } };`;

for (const isolation of ISOLATIONS) {
  test(`private, own and forbidden addresses are not connected to (${isolation})`, async t => {
    const names: string[] = [];
    const resolve = async (name: string): Promise<string[]> => {
      names.push(name);
      return name === 'inside.example' ? ['10.0.0.1', '169.254.169.254'] : [];
    };
    const host = newHost(t, { isolation, egress: { resolve } });
    const addresses = [
      '127.0.0.1:5432',
      '[::1]:5432',
      '169.254.169.254:80',
      '[::ffff:10.0.0.1]:22',
      'inside.example:22',
      'none.example:22',
      'mail.example:25',
    ];
    const fn = await host.load(failuresOf(addresses));
    const failures: readonly string[] = JSON.parse(await textOf(fn.fetch('http://x/')));
    for (const failure of failures) t.regex(failure, /^EDGE_EGRESS_DENIED Cannot connect to /);
    t.regex(failures.at(-1) ?? '', /port 25 \(SMTP\)/);
    t.deepEqual(names, ['inside.example', 'none.example']);
    const [, ...inside] = failures.slice(3, 6).map(text => text.replace(/to \S+: /, ''));
    t.is(inside[0], inside[1], 'a name that exists inside is not told apart from one that does not');
  });
}

test('a host with outbound opens no sockets, unless egress.sockets says so', async t => {
  const port = await tcpServer(t, () => {});
  const outbound = (): Response => new Response();
  const source = failuresOf([`127.0.0.1:${port}`]);
  const closed = await newHost(t, { ...LOOPBACK, outbound }).load(source);
  t.deepEqual(JSON.parse(await textOf(closed.fetch('http://x/'))), [
    `EDGE_EGRESS_DENIED Cannot connect to 127.0.0.1:${port}: this host opens no sockets for functions (option egress.sockets)`,
  ]);
  const open = await newHost(t, { egress: { ...LOOPBACK.egress, sockets: true }, outbound }).load(source);
  t.is(await textOf(open.fetch('http://x/')), '["opened"]');
  const none = await newHost(t, { egress: { ...LOOPBACK.egress, sockets: false } }).load(source);
  t.regex(await textOf(none.fetch('http://x/')), /EDGE_EGRESS_DENIED/);
});

test('connect() is a subrequest, and startTls() and the end of writing are none', async t => {
  const port = await tcpServer(t, socket => socket.resume().on('end', () => socket.end()));
  const host = newHost(t, { ...LOOPBACK, limits: { subrequests: 3 } });
  const fn = await host.load(`import { connect } from 'edgehost:sockets';
    export default { async fetch() {
      for (let n = 0; n < 3; n++) {
        const socket = connect('127.0.0.1:${port}');
        await socket.writable.close();
        await socket.closed;
      }
      return new Response(await connect('127.0.0.1:${port}').opened.then(() => 'opened', error => error.code + ' ' + error.message));
    } };`);
  const event = nextInvocation(host);
  t.regex(await textOf(fn.fetch('http://x/')), /^EDGE_SUBREQUEST_LIMIT .*limit subrequests is 3/);
  t.like((await event).calls, { socket: 3 });
});

for (const isolation of ISOLATIONS) {
  test(`the least recently used of six sockets that nobody uses is canceled for a seventh (${isolation})`, async t => {
    const port = await tcpServer(t, socket =>
      socket
        .on('error', () => {})
        .resume()
        .write('x'),
    );
    const fn = await newHost(t, { ...LOOPBACK, isolation }).load(`import { connect } from 'edgehost:sockets';
      const failure = promise => promise.then(() => 'closed', error => error.code);
      export default { async fetch(request) {
        const make = async () => { const socket = connect('127.0.0.1:${port}'); await socket.opened; return socket; };
        const sockets = [];
        for (let n = 0; n < 6; n++) sockets.push(await make());
        const readers = sockets.map(socket => socket.readable.getReader());
        // The first two are used last.
        for (const n of [1, 0]) await sockets[n].writable.getWriter().write(new Uint8Array(1));
        await readers[0].read();
        sockets.push(await make());
        const states = [];
        for (const { closed } of sockets) states.push(await Promise.race([failure(closed), scheduler.wait(20).then(() => 'open')]));
        return Response.json({ states, read: await failure(readers[2].read()) });
      } };`);
    t.deepEqual(JSON.parse(await textOf(fn.fetch('http://x/'))), {
      states: ['open', 'open', 'EDGE_CONNECTION_CANCELED', 'open', 'open', 'open', 'open'],
      read: 'EDGE_CONNECTION_CANCELED',
    });
  });
}

test('no socket is canceled while one is read: the seventh waits until that has got what it waits for, or is closed', async t => {
  const opened: Socket[] = [];
  const port = await tcpServer(t, socket => {
    opened.push(socket);
    socket
      .on('error', () => {})
      .resume()
      .on('end', () => socket.end());
  });
  const host = newHost(t, LOOPBACK);
  host.on('log', () => opened[0]?.write('x'));
  const fn = await host.load(`import { connect } from 'edgehost:sockets';
    const isOpen = socket => Promise.race([socket.opened.then(() => true), scheduler.wait(300).then(() => false)]);
    export default { async fetch() {
      const make = () => connect('127.0.0.1:${port}', { allowHalfOpen: true });
      const sockets = [make(), make(), make(), make(), make(), make()];
      await Promise.all(sockets.map(({ opened }) => opened));
      for (const { closed } of sockets) closed.catch(() => {});
      const reader = sockets[0].readable.getReader();
      const read = reader.read();
      const seventh = make();
      const results = [await isOpen(seventh)];
      console.log('send');
      await read;
      await seventh.opened;
      // All others but that one are idle, and one is closed.
      const again = reader.read();
      again.catch(() => {});
      const eighth = make();
      results.push(await isOpen(eighth));
      await seventh.close();
      await eighth.opened;
      return Response.json(results);
    } };`);
  t.is(await textOf(fn.fetch('http://x/')), '[false,false]');
});

test('bytes that sockets send and receive count as egress', async t => {
  const port = await tcpServer(t, socket => void socket.pipe(socket));
  const host = newHost(t, LOOPBACK);
  const fn = await host.load(`import { connect } from 'edgehost:sockets';
    export default { async fetch() {
      const socket = connect('127.0.0.1:${port}');
      const writer = socket.writable.getWriter();
      writer.write(new Uint8Array(100_000));
      await writer.close();
      return new Response(String((await new Response(socket.readable).arrayBuffer()).byteLength));
    } };`);
  const event = nextInvocation(host);
  t.is(await textOf(fn.fetch('http://x/')), '100000');
  t.like(await event, { egressSentBytes: 100_000, egressReceivedBytes: 100_000 });
});

test('an account has at most socketsPerAccount sockets open, each of them a descriptor', async t => {
  const port = await tcpServer(t, () => {});
  const host = newHost(t, { egress: { ...LOOPBACK.egress, socketsPerAccount: 2 } });
  const fn = await host.load(`import { connect } from 'edgehost:sockets';
    export default { async fetch() {
      const sockets = [connect('127.0.0.1:${port}'), connect('127.0.0.1:${port}'), connect('127.0.0.1:${port}')];
      const outcomes = await Promise.all(sockets.map(({ opened }) => opened.then(() => 'opened', error => error.message)));
      return Response.json(outcomes);
    } };`);
  const outcomes = [
    'opened',
    'opened',
    'Cannot connect: the account has 2 sockets open, at most 2 are allowed (option egress.socketsPerAccount)',
  ];
  t.deepEqual(JSON.parse(await textOf(fn.fetch('http://x/'))), outcomes);
  t.deepEqual(JSON.parse(await textOf(fn.fetch('http://x/'))), outcomes, 'those of the first invocation are closed');
});

// --- calls as a hostile cell makes them ---

interface Rig {
  call(method: string, args: unknown, invocation?: string, signal?: AbortSignal): Promise<ServiceReply>;
  readonly work: ReturnType<typeof countedWork>;
  readonly share: SocketShare;
}

function rig(): Rig {
  const share: SocketShare = { dialer: new Dialer({ allow: ['127.0.0.0/8'] }), maxSockets: 4, open: new Map() };
  const context: FunctionContext<SocketShare> = {
    account: 'a',
    function: 'f',
    limits: resolveLimits({ plan: 'standard' }),
    props: {},
    compatibility: { date: '2024-01-01', flags: [] },
    shared: share,
    checkUrl: () => {},
  };
  const service = socketService(context);
  const work = countedWork();
  return {
    work,
    share,
    call: (method, args, invocation = 'one', signal = new AbortController().signal) =>
      service({
        method,
        args,
        body: null,
        signal,
        work,
        origin: { invocation, props: undefined, chain: undefined, calls: { depth: 1, total: { count: 1 } } },
      }),
  };
}

test('calls of other forms are refused, and leave nothing open', async t => {
  const { call, work, share } = rig();
  const good = { socket: 1, hostname: '127.0.0.1', port: 1, secureTransport: 'off', allowHalfOpen: false };
  const bad: readonly unknown[] = [
    null,
    [],
    'x',
    { ...good, socket: -1 },
    { ...good, socket: 1.5 },
    { ...good, hostname: '' },
    { ...good, hostname: 'a b' },
    { ...good, hostname: `${'a'.repeat(256)}` },
    { ...good, hostname: '127.0.0.1%eth0' },
    { ...good, hostname: ['127.0.0.1'] },
    { ...good, port: 0 },
    { ...good, port: 65_536 },
    { ...good, port: '80' },
    { ...good, secureTransport: '__proto__' },
    { ...good, allowHalfOpen: 1 },
  ];
  for (const args of bad) await t.throwsAsync(call('connect', args), { instanceOf: TypeError }, JSON.stringify(args));
  for (const args of [null, { socket: 1 }, { socket: 1, sentBytes: -1, readBytes: 0, serverName: null }]) {
    await t.throwsAsync(call('startTls', args), { instanceOf: TypeError });
  }
  await t.throwsAsync(call('finish', {}), { instanceOf: TypeError });
  for (const method of ['', '__proto__', 'constructor', 'open']) {
    await t.throwsAsync(call(method, good), { code: 'EDGE_NOT_SUPPORTED' });
  }
  t.is(share.open.size, 0);
  t.is(work.open, 0);
});

test('a socket is reached by the invocation that opened it alone, and its number is used once', async t => {
  const { call, share } = rig();
  const port = await tcpServer(t, () => {});
  const controller = new AbortController();
  const args = { socket: 1, hostname: '127.0.0.1', port, secureTransport: 'starttls', allowHalfOpen: true };
  const { closed } = await call('connect', args, 'one', controller.signal);
  await t.throwsAsync(call('connect', args), { message: 'The invocation has a socket 1 already' });
  const upgrade = { socket: 1, sentBytes: 0, readBytes: 0, serverName: null };
  await t.throwsAsync(call('startTls', upgrade, 'two'), { message: /no open socket of that number/ });
  await t.notThrowsAsync(call('finish', { socket: 1 }, 'two'), 'nothing is left to be written of what is not there');
  controller.abort(new Error('over'));
  await t.throwsAsync(async () => closed, { message: 'over' });
  t.is(share.open.size, 0);
  await t.throwsAsync(call('startTls', upgrade), { message: /no open socket of that number/ });
});

test('a socket whose connection never opens is given up with its call', async t => {
  const { call, share, work } = rig();
  const controller = new AbortController();
  const never = new Dialer({ allow: ['127.0.0.0/8'], resolve: () => new Promise(() => {}) });
  const target = { hostname: 'never.example', port: 1 };
  const opening = never.open(target, controller.signal);
  controller.abort(new Error('over'));
  await t.throwsAsync(opening, { message: 'over' });
  const aborted = AbortSignal.abort(new Error('over before'));
  const args = { socket: 1, ...target, secureTransport: 'off', allowHalfOpen: false };
  await t.throwsAsync(call('connect', args, 'one', aborted), { message: 'over before' });
  t.is(share.open.size, 0);
  t.is(work.open, 0);
});
