/** Cells that were taken over, on the records of a WebSocket: the client is cut off with a code, the host goes on, and what it holds has a bound. */
import { once } from 'node:events';
import process from 'node:process';
import test, { type ExecutionContext } from 'ava';
import fc from 'fast-check';
import WebSocket from 'ws';
import { RecordError, RecordReader } from '../../src/bindings/websocket/record-codec.js';
import { errorCode } from '../../src/quotas/errors.js';
import { closed, serveSockets } from '../host/ingress/websocket/servers.js';
import { nextInvocation } from '../host/new-host.js';
import { type HijackedHost, hijackedHost, inJavaScript, openNeighbourhood } from './cells/hijack.js';

const MEBIBYTE = 1024 * 1024;
const HOST_BYTES = 16 * MEBIBYTE;
const neighbourhood = openNeighbourhood({
  hostBytes: HOST_BYTES,
  // A cell that was taken over never says that its invocation is over.
  limits: { webSocketMessageBytes: MEBIBYTE, waitUntilMs: 2000 },
});
test.after.always(async () => (await neighbourhood).host.close({ drainMs: 0 }));

async function open(t: ExecutionContext, rig: HijackedHost, query: string): Promise<WebSocket> {
  const url = await serveSockets(t, rig.host);
  const ws = new WebSocket(`${url}/socket?${query}`, { headers: { host: `${rig.attacker}.test` } });
  ws.on('error', () => {});
  t.teardown(() => ws.terminate());
  return ws;
}

const GARBAGE: readonly { readonly what: string; readonly records: string; readonly code: number }[] = [
  { what: 'a kind that there is not', records: '0700000000', code: 1011 },
  { what: 'a loss, which is for the host to say', records: '0900000000', code: 1011 },
  { what: 'a message of four gigabytes', records: '01ffffffff', code: 1009 },
  { what: 'a message of a byte more than the limit', records: '0201001000', code: 1009 },
  { what: 'a close of 126 bytes', records: `087e000000${'00'.repeat(126)}`, code: 1011 },
  { what: 'a close without a code', records: '080100000000', code: 1011 },
  { what: 'a close with a code that is never sent', records: '0802000000ee03', code: 1011 },
  { what: 'a close whose reason is no UTF-8', records: '0804000000e803ff80', code: 1011 },
];

for (const { what, records, code } of GARBAGE) {
  test(`${what} closes the WebSocket and ends the invocation`, async t => {
    const rig = await hijackedHost(t, await neighbourhood, inJavaScript());
    const ws = await open(t, rig, `records=${records}`);
    t.is((await closed(ws)).code, code);
    t.is(await (await rig.neighbours[0]?.fetch('https://neighbour.test/'))?.text(), 'innocent');
  });
}

test('a record behind a close does not reach the client', async t => {
  const rig = await hijackedHost(t, await neighbourhood, inJavaScript());
  const ws = await open(t, rig, 'records=0802000000a00f010100000041');
  ws.on('message', () => t.fail('a message came'));
  t.is((await closed(ws)).code, 4000);
});

test('a switch of protocols that nobody has asked for, or without a body, is an error', async t => {
  const rig = await hijackedHost(t, await neighbourhood, inJavaScript());
  const { signal } = new AbortController();
  const code = await rig.attack('/socket', signal).then(() => 'answered', errorCode);
  t.is(code, 'EDGE_PROTOCOL');
  const ended = nextInvocation(rig.host, event => event.account === rig.attacker);
  const ws = await open(t, rig, 'whole');
  await once(ws, 'unexpected-response');
  t.is((await ended).outcome, 'exception');
});

test('messages without end to a client that does not read fill no more than windows', async t => {
  const rig = await hijackedHost(t, await neighbourhood, inJavaScript());
  const restBytes = process.memoryUsage.rss();
  const size = 64 * 1024;
  const head = Buffer.alloc(5);
  head.writeUInt8(2);
  head.writeUInt32LE(512, 1);
  const ws = await open(t, rig, `again&records=${head.toString('hex')}${'61'.repeat(512)}`);
  await once(ws, 'open');
  ws.pause();
  const before = rig.readBytes();
  for (let round = 0; round < 30; round++) {
    t.is(await (await rig.neighbours[0]?.fetch('https://neighbour.test/'))?.text(), 'innocent');
  }
  // The windows of the body and of the socket, and what the system takes.
  t.true(rig.readBytes() - before < 16 * MEBIBYTE + size);
  t.true(process.memoryUsage.rss() - restBytes < HOST_BYTES + 144 * MEBIBYTE);
});

test('bytes of any kind, cut anywhere, are records or a RecordError, and no message is longer than the limit', t => {
  const bytes = fc.array(
    fc.oneof(
      fc.uint8Array({ maxLength: 300 }),
      fc
        .tuple(fc.constantFrom(1, 2, 8, 9, 0), fc.nat(400), fc.uint8Array({ maxLength: 400 }))
        .map(([kind, length, rest]) => {
          const head = Buffer.alloc(5);
          head.writeUInt8(kind);
          head.writeUInt32LE(length, 1);
          return Buffer.concat([head, rest]);
        }),
    ),
    { maxLength: 8 },
  );
  fc.assert(
    fc.property(bytes, pieces => {
      let messageBytes = 0;
      let closes = 0;
      const reader = new RecordReader(256, {
        message: (part, _isBinary, isLast) => {
          t.is(closes, 0);
          messageBytes += part.length;
          t.true(messageBytes <= 256);
          if (isLast) messageBytes = 0;
        },
        close: () => void closes++,
      });
      try {
        for (const piece of pieces) reader.read(Buffer.from(piece));
      } catch (error) {
        if (!(error instanceof RecordError)) throw error;
      }
      t.true(closes <= 1);
    }),
  );
});
