/** What bounds a WebSocket: length of messages, CPU time, slow readers, clients that break the protocol, and the ends of functions and accounts. */
import { once } from 'node:events';
import net from 'node:net';
import process from 'node:process';
import test from 'ava';
import { newHost, nextInvocation } from '../../new-host.js';
import { accepting, closed, connect, connected, ECHO, nextMessage, refusal, rigOf, serveSockets } from './servers.js';

/** More of everything, for machines that have the time: EDGEHOST_TEST_SOCKETS=10000. */
const SOCKETS = Number(process.env.EDGEHOST_TEST_SOCKETS ?? 40);

for (const level of ['host', 'function'] as const) {
  test(`webSocketMessageBytes set for the ${level} allows its figure and no more, in both directions`, async t => {
    const limits = { webSocketMessageBytes: 1000 };
    const source = accepting(
      'server.onmessage = ({ data }) => server.send(data.length > 10 ? data : "x".repeat(Number(data)));',
    );
    const { url } = await rigOf(t, source, level === 'host' ? { host: { limits } } : { load: { limits } });
    const ws = await connected(t, url);
    for (const text of ['x'.repeat(1000), '1000']) {
      ws.send(text);
      t.is((await nextMessage(ws)).length, 1000);
    }
    ws.send('1001');
    t.is((await closed(ws)).code, 1009);
    const other = await connected(t, url);
    other.send('x'.repeat(1001));
    t.is((await closed(other)).code, 1009);
  });
}

test('each message begins the CPU time anew, and one that takes more ends the invocation', async t => {
  const source = accepting(`server.onmessage = ({ data }) => {
    const until = Date.now() + Number(data); let n = 0;
    while (performance.now() >= 0 && n < Number(data) * 1e5) n++;
    server.send('done');
  };`);
  const { host, url } = await rigOf(t, source, { load: { limits: { cpuMs: 400, cpuOverrunMs: 0 } } });
  const ws = await connected(t, url);
  const over = nextInvocation(host);
  // Together several times the limit.
  for (let n = 0; n < 40; n++) {
    ws.send('20');
    t.is(await nextMessage(ws), 'done');
  }
  ws.send('1000000');
  t.deepEqual(await closed(ws), { code: 1011, reason: 'EDGE_CPU_LIMIT' });
  const { outcome, cpuMs } = await over;
  t.is(outcome, 'exceededCpu');
  t.true(cpuMs > 400);
});

test('a client that does not read holds the function back', async t => {
  const source = accepting(`const chunk = 'x'.repeat(64 * 1024); let sent = 0;
    server.onmessage = ({ data }) => { for (let n = 0; n < Number(data); n++) server.send(chunk); };`);
  const { url } = await rigOf(t, source);
  const ws = await connected(t, url);
  const restBytes = process.memoryUsage().arrayBuffers;
  ws.pause();
  ws.send('300');
  for (let round = 0; round < 20; round++) await new Promise(resolve => setTimeout(resolve, 10));
  t.true(process.memoryUsage().arrayBuffers - restBytes < 8 * 1024 * 1024);
  let received = 0;
  ws.on('message', () => received++);
  ws.resume();
  while (received < 300) await once(ws, 'message');
  t.is(received, 300);
});

test('a function that does not read holds the client back', async t => {
  const source = `export default { fetch() {
    const [client] = Object.values(new WebSocketPair());
    return new Response(null, { status: 101, webSocket: client });
  } };`;
  const { url } = await rigOf(t, source);
  const ws = await connected(t, url);
  for (let n = 0; n < 600; n++) ws.send(Buffer.alloc(64 * 1024));
  for (let round = 0; round < 20; round++) await new Promise(resolve => setTimeout(resolve, 10));
  // The rest is where the system keeps what was sent, and in the first window.
  t.true(ws.bufferedAmount > 16 * 1024 * 1024);
});

test('frames that are none close the WebSocket, and so do messages in too many parts', async t => {
  const { host, url } = await rigOf(t, ECHO);
  const { port } = new URL(url);
  const attack = async (frames: Buffer): Promise<number> => {
    const socket = net.connect(Number(port), '127.0.0.1');
    t.teardown(() => socket.destroy());
    const over = nextInvocation(host);
    socket.write(
      `GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${'a'.repeat(22)}==\r\n\r\n`,
    );
    await once(socket, 'data');
    const closing = once(socket, 'data');
    socket.write(frames);
    const [frame] = await closing;
    socket.destroy();
    await over;
    return frame.readUInt16BE(2);
  };
  t.is(await attack(Buffer.from('0102030405', 'hex')), 1002);
  t.is(await attack(Buffer.from('8300', 'hex')), 1002);
  t.is(await attack(Buffer.from('818000000000', 'hex').fill(0xff, 0, 1)), 1002);
  const part = (opcode: number): string => `${opcode === 0 ? '00' : '01'}810000000041`;
  t.is(await attack(Buffer.from(part(1) + part(0).repeat(3000), 'hex')), 1008);
});

test('half messages of many clients have a bound, and others are served', async t => {
  const { url } = await rigOf(t, ECHO, { host: { hostBytes: 4 * 1024 * 1024 } });
  const { port } = new URL(url);
  const ends: Promise<unknown>[] = [];
  for (let n = 0; n < SOCKETS; n++) {
    const socket = net.connect(Number(port), '127.0.0.1').on('error', () => {});
    t.teardown(() => socket.destroy());
    ends.push(once(socket, 'close'));
    socket.write(
      `GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${'a'.repeat(22)}==\r\n\r\n`,
    );
    await once(socket, 'data');
    const head = Buffer.from('82ff0000000000fffff000000000', 'hex');
    socket.write(Buffer.concat([head, Buffer.alloc(512 * 1024)]));
  }
  // All together would hold five times what the host holds for the account.
  await Promise.race(ends);
  const ws = await connected(t, url);
  ws.send('still');
  t.is(await nextMessage(ws), 'still');
});

test('handshakes that the function leaves open are bounded by openInvocations, and end with their clients', async t => {
  const { host, url } = await rigOf(
    t,
    'export default { fetch() { console.log(0); return scheduler.wait(600_000); } };',
    {
      host: { openInvocations: SOCKETS },
    },
  );
  let begun = 0;
  host.on('log', () => begun++);
  let ended = 0;
  host.on('invocation', ({ outcome }) => outcome === 'canceled' && ended++);
  const waiting = Array.from({ length: SOCKETS }, () => connect(t, url));
  while (begun < SOCKETS) await new Promise(resolve => setTimeout(resolve, 10));
  t.is((await refusal(connect(t, url))).status, 503);
  for (const ws of waiting) ws.terminate();
  while (ended < SOCKETS) await new Promise(resolve => setTimeout(resolve, 10));
  t.pass();
});

test('the removal of the account and the end of the host close WebSockets', async t => {
  const host = newHost(t);
  await host.account('gone').load(ECHO, { routes: ['gone.test/*'] });
  await host.account('stays').load(ECHO, { routes: ['stays.test/*'] });
  const url = await serveSockets(t, host);
  const gone = await connected(t, url, { headers: { host: 'gone.test' } });
  const stays = await connected(t, url, { headers: { host: 'stays.test' } });
  const ended = closed(gone);
  await host.removeAccount('gone');
  t.true([1001, 1011].includes((await ended).code));
  stays.send('here');
  t.is(await nextMessage(stays), 'here');
  const last = closed(stays);
  await host.close({ drainMs: 0 });
  t.true([1001, 1006, 1011].includes((await last).code));
});
