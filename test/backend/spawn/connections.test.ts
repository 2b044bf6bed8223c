/** The clients of the socket of a backend process, and its connections to applications and cells. */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmod, chown, mkdir, symlink } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { lineOf, MAX_HELLO_BYTES } from '../../../src/backend/socket/hello.js';
import { connectBackend } from '../../../src/backend/spawn/connect-backend.js';
import { packageVersion } from '../../../src/backend/spawn/package-version.js';
import { errorCode } from '../../../src/quotas/errors.js';
import { onLinux, unlessMissing } from '../../needs.js';
import { connectTo, MAIN, storageDirectory } from './with-backend.js';

/** Only root can give a directory away. */
const asRoot = unlessMissing(process.geteuid?.() === 0 ? undefined : 'not root');

/** A connection that says nothing yet. */
async function dialed(t: ExecutionContext, directory: string): Promise<Socket> {
  for (;;) {
    const socket = connect(join(directory, '.services', 'socket'));
    t.teardown(() => socket.destroy());
    const failure = await new Promise<unknown>(resolve => {
      socket.once('connect', () => resolve(undefined));
      socket.on('error', resolve);
    });
    if (failure === undefined) return socket;
    // As many wait as the kernel lets wait: the process has not had its turn.
    if (errorCode(failure) !== 'EAGAIN') throw failure;
    await delay(10);
  }
}

/** What comes until the other end closes. */
async function untilClosed(socket: Socket): Promise<string> {
  let text = '';
  socket.on('data', chunk => {
    text += String(chunk);
  });
  await closed(socket);
  return text;
}

/** However that comes about. */
function closed(socket: Socket): Promise<void> {
  return new Promise(resolve => {
    if (socket.destroyed) resolve();
    else socket.once('close', () => resolve());
  });
}

async function nextChunk(socket: Socket): Promise<string> {
  const [chunk]: unknown[] = await once(socket, 'data');
  return String(chunk);
}

const version = packageVersion();
const HOSTILE: Readonly<Record<string, string | Buffer>> = {
  'random bytes': Buffer.concat([randomBytes(1000), Buffer.from('\n')]),
  'an empty line': '\n',
  'a request of HTTP': 'GET / HTTP/1.1\r\nHost: x\r\n\r\n',
  'a value that is no object': '[1]\n',
  'an unknown kind': '{"kind":"storage","application":"a"}\n',
  'a watch without a version': '{"kind":"watch","application":"a"}\n',
  'a name that is no text': `{"kind":"watch","version":"${version}","application":{}}\n`,
  'a name that is too long': `{"kind":"watch","version":"${version}","application":"${'a'.repeat(129)}"}\n`,
  'an application without a watch': lineOf({ kind: 'application', application: 'a' }),
  'a cell of no application': lineOf({ kind: 'cell', application: 'a', connection: 'b' }),
  'a cell without a name': '{"kind":"cell","application":"a"}\n',
  'a line without an end': 'x'.repeat(MAX_HELLO_BYTES + 1),
  'a line with a long end': `{"kind":"watch","padding":"${'x'.repeat(100_000)}"}\n`,
};

test('a connection that does not begin with a hello is closed without an answer, and nobody notices', async t => {
  const directory = await storageDirectory(t);
  const { ask } = await connectTo(t, directory);
  for (const [name, bytes] of Object.entries(HOSTILE)) {
    const socket = await dialed(t, directory);
    socket.write(bytes);
    t.is(await untilClosed(socket), '', name);
    t.is(await ask('put a b'), 'put', name);
  }
});

test('connections that say nothing, or half of a hello, hold nobody up', async t => {
  const directory = await storageDirectory(t);
  const first = await connectTo(t, directory);
  for (let at = 0; at < 20; at++) {
    const socket = await dialed(t, directory);
    if (at % 2 === 0) socket.write('{"kind":"wat');
  }
  const second = await connectTo(t, directory);
  t.is(await second.ask('put a b'), 'put');
  // They are no applications: the process ends without them.
  await first.connection.close();
  await second.connection.close();
});

test('of connections that say nothing the oldest are closed when there are too many', async t => {
  const directory = await storageDirectory(t);
  const { ask } = await connectTo(t, directory);
  const [oldest] = await Promise.all(Array.from({ length: 3 }, () => dialed(t, directory)));
  const isClosed = untilClosed(oldest ?? (await dialed(t, directory)));
  for (let at = 0; at < 1100; at += 50) await Promise.all(Array.from({ length: 50 }, () => dialed(t, directory)));
  await isClosed;
  t.is(await ask('put a b'), 'put');
});

test('a hello that comes byte by byte is one', async t => {
  const directory = await storageDirectory(t);
  await connectTo(t, directory);
  const socket = await dialed(t, directory);
  for (const byte of Buffer.from(lineOf({ kind: 'watch', version, application: 'slow' }))) {
    socket.write(Buffer.of(byte));
    await new Promise(resolve => setImmediate(resolve));
  }
  t.regex(await nextChunk(socket), /"isAccepted":true/);
});

test('a second application of the same name is refused, and so is a second control connection', async t => {
  const directory = await storageDirectory(t);
  const { connection, ask } = await connectTo(t, directory);
  const { application } = connection;
  const twin = await dialed(t, directory);
  twin.write(lineOf({ kind: 'watch', version, application }));
  t.regex(await untilClosed(twin), /"isAccepted":false/);
  const control = await dialed(t, directory);
  control.write(lineOf({ kind: 'application', application }));
  t.is(await untilClosed(control), '');
  t.is(await ask('put a b'), 'put');
});

test('a connection of a cell is handed on with what followed its hello', async t => {
  const directory = await storageDirectory(t);
  const { connection } = await connectTo(t, directory);
  const { application } = connection;
  const socket = await dialed(t, directory);
  const rest = 'r'.repeat(200_000);
  socket.write(`${lineOf({ kind: 'cell', application, connection: 'ticket' })}${rest}`);
  const expected = `${application} ticket\n${rest}`;
  let text = '';
  while (text.length < expected.length) text += await nextChunk(socket);
  t.is(text, expected);
});

/** Says what it reads from descriptor 3, which echoes, and which descriptors it has. */
const CELL = `
  import { readdirSync, readlinkSync } from 'node:fs';
  import { Socket } from 'node:net';
  const socket = new Socket({ fd: 3 });
  socket.write('hello\\n');
  let text = '';
  socket.on('data', chunk => {
    text += chunk;
    if (!text.endsWith('hello\\n')) return;
    const links = readdirSync('/proc/self/fd').map(fd => {
      try { return fd + '=' + readlinkSync('/proc/self/fd/' + fd); } catch { return fd; }
    });
    console.log(text + links.join('\\n'));
    socket.destroy();
  });
`;

onLinux('open() makes a connection that another process can be given, and nothing else of it', async t => {
  const directory = await storageDirectory(t);
  const { connection } = await connectTo(t, directory);
  const socket = await connection.open('lease 1');
  t.is(socket.bytesRead, 0);
  const cell = spawn(process.execPath, ['--input-type=module', '-e', CELL], {
    stdio: ['ignore', 'pipe', 'inherit', socket],
  });
  let text = '';
  cell.stdout?.on('data', chunk => {
    text += String(chunk);
  });
  await once(cell, 'close');
  socket.destroy();
  const [names, echo, ...descriptors] = text.trimEnd().split('\n');
  t.is(names, `${connection.application} lease 1`);
  t.is(echo, 'hello');
  const given = descriptors.filter(name => /=socket:/.test(name) && !/^[0-2]=/.test(name));
  t.is(given.length, 1, text);
  t.deepEqual(
    descriptors.filter(name => name.includes(directory)),
    [],
  );
});

onLinux('a backend process inherits no descriptor of the application', async t => {
  const directory = await storageDirectory(t);
  const { ask } = await connectTo(t, directory);
  const names = (await ask('descriptors')).split(' ').map(entry => entry.slice(entry.indexOf('=') + 1));
  const files = names.filter(name => name.startsWith('/') && name !== '/dev/null');
  t.deepEqual(
    files.filter(name => !name.startsWith(directory)),
    [],
  );
  // Its own: one that accepts, and two of the application.
  t.is(names.filter(name => name.startsWith('socket:')).length, 3, names.join(' '));
});

test('open() rejects with EDGE_SERVICES_LOST when the process has ended', async t => {
  const { connection, lost } = await connectTo(t, await storageDirectory(t));
  process.kill(connection.pid, 'SIGKILL');
  await lost;
  await t.throwsAsync(connection.open('late'), { code: 'EDGE_SERVICES_LOST' });
});

onLinux('open() waits when so many connections wait for the process that no other may', async t => {
  const directory = await storageDirectory(t);
  const { connection } = await connectTo(t, directory);
  process.kill(connection.pid, 'SIGSTOP');
  const sockets: Socket[] = [];
  // More than it may have waiting: the last are refused.
  const refused = new Promise(resolve => {
    for (let at = 0; at < 600; at++) {
      const socket = connect(join(directory, '.services', 'socket'));
      socket.on('error', resolve);
      sockets.push(socket);
    }
  });
  t.like(await refused, { code: 'EAGAIN' });
  const opening = connection.open('patient');
  for (const socket of sockets) socket.destroy();
  process.kill(connection.pid, 'SIGCONT');
  const socket = await opening;
  socket.resume();
  t.is(await nextChunk(socket), `${connection.application} patient\n`);
  socket.destroy();
});

test('connectBackend() reports a process that does not answer, and ends it', async t => {
  const directory = await storageDirectory(t);
  const { connection, lost } = await connectTo(t, directory);
  const { pid } = connection;
  process.kill(pid, 'SIGSTOP');
  await t.throwsAsync(connectBackend({ directory, main: MAIN, startWithinMs: 300 }), {
    code: 'EDGE_SERVICES_START',
    message: new RegExp(`backend process ${pid} has not answered for 300 ms, and was ended`),
  });
  t.is(await lost, 'signal SIGKILL');
  t.is(await (await connectTo(t, directory)).ask('put a b'), 'put');
});

test('a backend process has no more connections than it was told, and the rest are closed', async t => {
  const directory = await storageDirectory(t);
  const { connection, ask } = await connectTo(t, directory, { maxConnections: 5 });
  const cells = await Promise.all(['a', 'b', 'c'].map(name => connection.open(name)));
  for (const cell of cells) {
    cell.resume();
    await nextChunk(cell);
  }
  const late = await connection.open('d');
  late.resume();
  await closed(late);
  t.is(late.bytesRead, 0);
  t.is(await ask('put a b'), 'put');
  await t.throwsAsync(connectBackend({ directory, main: MAIN, startWithinMs: 300 }), {
    code: 'EDGE_SERVICES_START',
    message: new RegExp(`backend process ${connection.pid} accepts no more connections$`),
  });
  t.is(await ask('get a'), 'b');
  for (const cell of cells) cell.destroy();
});

for (const mode of [0o755, 0o733]) {
  test(`connectBackend() rejects with EDGE_STORAGE_ACCESS when others have rights on the folder: ${mode.toString(8)}`, async t => {
    const directory = await storageDirectory(t);
    const folder = join(directory, '.services');
    await mkdir(folder, { recursive: true });
    await chmod(folder, mode);
    await t.throwsAsync(connectBackend({ directory, main: MAIN }), {
      code: 'EDGE_STORAGE_ACCESS',
      message: /\.services" is not private: .*chmod 700/,
    });
  });
}

asRoot('connectBackend() rejects with EDGE_STORAGE_ACCESS when the folder belongs to another user', async t => {
  const directory = await storageDirectory(t);
  const folder = join(directory, '.services');
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await chown(folder, 12345, 12345);
  await t.throwsAsync(connectBackend({ directory, main: MAIN }), {
    code: 'EDGE_STORAGE_ACCESS',
    message: /belongs to user 12345/,
  });
});

test('connectBackend() follows no link that stands in place of the folder', async t => {
  const directory = await storageDirectory(t);
  const elsewhere = await storageDirectory(t);
  await mkdir(elsewhere, { recursive: true, mode: 0o700 });
  await mkdir(directory, { mode: 0o700 });
  await symlink(elsewhere, join(directory, '.services'));
  await t.throwsAsync(connectBackend({ directory, main: MAIN }), { code: 'EDGE_STORAGE_ACCESS' });
});
