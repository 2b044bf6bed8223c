/** What harden-thread.test.ts runs in a thread of its own, since there is no way back. Answers the results of the checks. */
import { webcrypto } from 'node:crypto';
import { connect, createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { parentPort } from 'node:worker_threads';
import { gunzipSync, gzip } from 'node:zlib';
import { hardenThread } from '../../src/isolate/harden-thread.js';

async function echo(): Promise<string> {
  const server = createServer(socket => socket.pipe(socket)).listen(0, '127.0.0.1');
  await new Promise(resolve => server.once('listening', resolve));
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('no address');
  const answer = await new Promise<string>((resolve, reject) => {
    const socket = connect(address.port, '127.0.0.1', () => socket.write('hello'));
    socket.on('error', reject);
    socket.on('data', data => {
      resolve(data.toString());
      socket.end();
    });
  });
  server.close();
  return answer;
}

function throwsWhen(act: () => unknown): boolean {
  try {
    act();
    return false;
  } catch (error) {
    return error instanceof TypeError;
  }
}

const functions: readonly object[] = [() => {}, async () => {}, function* () {}, async function* () {}];

hardenThread();
hardenThread();

const error = new Error('first');
error.name = 'Renamed';
error.message = 'second';
const own: { toString?: unknown; constructor?: unknown } = {};
own.toString = () => 'own';
own.constructor = 1;

const results = {
  removed: ['process', 'require', 'eval', 'Function'].filter(name => name in globalThis),
  compilers: functions.filter(value => value.constructor !== Object).length,
  hasFrozenIntrinsics:
    throwsWhen(() => Reflect.apply(Object.defineProperty, undefined, [Array.prototype, 'added', { value: 1 }])) &&
    throwsWhen(() => Object.assign(Object.prototype, { added: 1 })) &&
    throwsWhen(() => Object.assign(Promise, { added: 1 })),
  overrides: [String(error), String(own), own.constructor],
  echo: await echo(),
  gzip: gunzipSync(await promisify(gzip)('compressed')).toString(),
  digestBytes: (await webcrypto.subtle.digest('SHA-256', Buffer.from('x'))).byteLength,
  timer: await delay(1, 'fired'),
  text: new TextDecoder('shift_jis').decode(Uint8Array.of(0x82, 0xa0)),
};
parentPort?.postMessage(results);
