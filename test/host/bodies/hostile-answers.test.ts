/** Answers that no honest isolate gives: a client, and a proxy that shares its connection among clients, never see more than one answer. */
import { once } from 'node:events';
import http from 'node:http';
import net from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { fetchThrough } from '../../../src/host/ingress/fetch-adapter.js';
import { fetchInput } from '../../../src/host/ingress/fetch-input.js';
import { createListener } from '../../../src/host/ingress/listener.js';
import type { FrameWriter } from '../../../src/protocol/frames/frame-writer.js';
import { hostileIsolate } from './hostile-isolate.js';

type Answer = (writer: FrameWriter, id: number) => void;

/** All that two requests on one connection are answered with; the second asks that it be closed. */
async function twoAnswers(t: ExecutionContext, answer: Answer, method = 'GET'): Promise<string> {
  let count = 0;
  const { runner } = await hostileIsolate(t, (writer, id) => {
    if (++count === 1) answer(writer, id);
    else writer.reply(id, 200, '\nx-second\nyes', false, Buffer.from('second'), true);
  });
  const find = () => ({ target: runner, mode: 'fail-closed' as const });
  const server = http.createServer(createListener(find, {}, () => {})).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server has no port');
  const socket = net.connect(address.port, '127.0.0.1');
  const chunks: Buffer[] = [];
  socket.on('data', chunk => chunks.push(chunk));
  socket.on('error', () => {});
  socket.write(
    `${method} /1 HTTP/1.1\r\nhost: x\r\naccept: application/json\r\n\r\nGET /2 HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`,
  );
  await once(socket, 'close');
  return Buffer.concat(chunks).toString('latin1');
}

function whole(status: number, head: string, body = 'body', isUtf8 = false): Answer {
  return (writer, id) => writer.reply(id, status, head, isUtf8, Buffer.from(body), true);
}

const refused: readonly [string, Answer][] = [
  ...[1, 99, 100, 101, 103, 199, 600, 999, 65_535].map((status): [string, Answer] => [
    `the status ${status}`,
    whole(status, ''),
  ]),
  ['a carriage return in a value', whole(200, '\nx-a\nv\rset-cookie: evil=1')],
  ['a carriage return in a name', whole(200, '\nx-a: 1\rset-cookie\nv')],
  ['a colon in a name', whole(200, '\nset-cookie: evil=1; x\nv')],
  ['a space behind a name', whole(200, '\ntransfer-encoding \nchunked')],
  ['a nameless header', whole(200, '\n\nv')],
  ['a line break in the status text', whole(200, 'OK\r\nset-cookie: evil=1')],
  ['characters past Latin-1', whole(200, 'OK\nx-a\n\u010d\u010aset-cookie: evil=1', 'body', true)],
  ['a NUL in a value', whole(200, '\nx-a\n\0')],
  ['a head of 200 KiB', whole(200, `\nx-a\n${'v'.repeat(200 * 1024)}`)],
  ['forty thousand headers', whole(200, '\na\n'.repeat(40_000))],
];

for (const [name, answer] of refused) {
  test(`listener() answers 502, and the next request is answered as ever, when an isolate answers with ${name}`, async t => {
    const text = await twoAnswers(t, answer);
    t.regex(text, /^HTTP\/1\.1 502 /);
    t.is(text.match(/HTTP\/1\.1 \d/g)?.length, 2);
    t.notRegex(text, /evil/);
    t.regex(text, /x-second: yes\r\n[\s\S]*\r\n\r\nsecond$/);
  });

  test(`fetch() rejects when an isolate answers with ${name}`, async t => {
    const { runner, told } = await hostileIsolate(t, answer);
    await t.throwsAsync(fetchThrough(runner, fetchInput('http://x/', undefined), 'fail-closed'), {
      code: 'EDGE_PROTOCOL',
    });
    t.notDeepEqual(told, ['ok']);
  });
}

test('listener() sends no body where there is none, whatever an isolate sends', async t => {
  for (const [status, method] of [
    [204, 'GET'],
    [304, 'GET'],
    [200, 'HEAD'],
  ] as const) {
    const head = '\ncontent-length\n4\nTransfer-Encoding\nchunked';
    const answers = [
      await twoAnswers(t, whole(status, head), method),
      await twoAnswers(
        t,
        (writer, id) => {
          writer.reply(id, status, head, false, null, false);
          writer.data(id, Buffer.from('body'));
          writer.end(id);
        },
        method,
      ),
    ];
    for (const text of answers) {
      t.regex(text, /^HTTP\/1\.1 \d+ [\s\S]*?\r\n\r\nHTTP\/1\.1 200 [\s\S]*\r\n\r\nsecond$/);
      t.notRegex(text, /chunked/i);
    }
  }
});

test('listener() believes none of several lengths', async t => {
  const text = await twoAnswers(t, (writer, id) => {
    writer.reply(id, 200, '\nContent-Length\n4\ncontent-length\n0', false, null, false);
    writer.data(id, Buffer.from('body'));
    writer.end(id);
  });
  t.regex(text, /\r\n4\r\nbody\r\n0\r\n\r\nHTTP\/1\.1 200 [\s\S]*second$/);
});

test('fetch() is refused when the isolate has left tens of megabytes unread, and served when it has read them', async t => {
  const { runner, setUnread } = await hostileIsolate(t, whole(200, ''));
  const request = (): Promise<Response> => fetchThrough(runner, fetchInput('http://x/', undefined), 'fail-closed');
  setUnread(100 * 1024 * 1024);
  await t.throwsAsync(request(), { code: 'EDGE_OVERLOADED' });
  setUnread(0);
  t.is((await request()).status, 200);
});

test('listener() leaves a name without a value out', async t => {
  const text = await twoAnswers(t, whole(200, '\nx-a\n1\nx-b'));
  t.regex(text, /x-a: 1\r\n/);
  t.notRegex(text, /x-b/);
});
