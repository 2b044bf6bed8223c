/** Bodies that the application asks for and does not read: what they hold comes back. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import test, { type ExecutionContext } from 'ava';
import type { EdgeHost, EdgeHostOptions } from '../../../src/index.js';
import { newHost } from '../new-host.js';

setFlagsFromString('--expose-gc');
const collect: () => void = runInNewContext('gc');

const MEBIBYTE = 1024 * 1024;
const SOURCE = `
import { FunctionEntrypoint } from 'edgehost:workers';
const streamed = bytes => new Response(new Uint8Array(bytes)).body;
export default class extends FunctionEntrypoint {
  fetch(request) {
    const bytes = Number(new URL(request.url).searchParams.get('bytes'));
    return new Response(new Uint8Array(bytes));
  }
  stream(bytes) { return streamed(bytes); }
  async give(bytes) { return await this.env.APP.take(streamed(bytes)); }
}`;

const PLACES: readonly (readonly [string, EdgeHostOptions])[] = [
  ['inline, process', { isolation: 'process' }],
  ['inline, thread', { isolation: 'thread' }],
  ['services in a process', { isolation: 'process', backend: 'process' }],
];

async function hostOf(t: ExecutionContext, options: EdgeHostOptions): Promise<EdgeHost> {
  if (options.backend !== 'process') return newHost(t, options);
  const storage = await mkdtemp(join(tmpdir(), 'edgehost-'));
  t.teardown(() => rm(storage, { recursive: true, force: true }));
  return newHost(t, { ...options, storage });
}

function codesOf(host: EdgeHost): string[] {
  const codes: string[] = [];
  host.on('warning', error => codes.push(`${String(Reflect.get(error, 'code'))} ${error.message}`));
  return codes;
}

/** Calls again until it is not refused: what was collected is cancelled a little later. */
async function whenAccepted<T>(call: () => Promise<T>): Promise<T> {
  for (let round = 0; ; round++) {
    try {
      return await call();
    } catch (error) {
      if (round === 100 || Reflect.get(Object(error), 'code') !== 'EDGE_OVERLOADED') throw error;
      collect();
      await pause(20);
    }
  }
}

for (const [place, options] of PLACES) {
  test(`fetch() and rpc give back what answers hold that the application has dropped (${place})`, async t => {
    const host = await hostOf(t, { ...options, hostBytes: 2 * MEBIBYTE, unreadMs: Number.POSITIVE_INFINITY });
    const codes = codesOf(host);
    const fn = await host.load(SOURCE, { name: 'f', bindings: { APP: { take: () => 1 } } });
    for (let call = 0; call < 60; call++) {
      await whenAccepted(() => fn.fetch('http://x/?bytes=70000'));
      await whenAccepted(() => fn.rpc.stream(300_000));
    }
    const { body } = await whenAccepted(() => fn.fetch('http://x/?bytes=1000000'));
    // A slow reader of the body alone.
    let read = 0;
    for await (const chunk of body ?? []) {
      collect();
      await pause(1);
      read += chunk.length;
    }
    t.is(read, 1_000_000);
    t.deepEqual(
      codes.filter(text => text.startsWith('EDGE_BODY_UNREAD')),
      [],
    );
  });

  test(`fetch() and rpc cancel answers that are held and not read after unreadMs, with a warning (${place})`, async t => {
    const host = await hostOf(t, { ...options, unreadMs: 100 });
    const codes = codesOf(host);
    const fn = await host.load(SOURCE, { name: 'f', bindings: { APP: { take: () => 1 } } });
    const held = [await fn.fetch('http://x/?bytes=1000000'), await fn.fetch('http://x/?bytes=1000000')];
    const stream = await fn.rpc.stream(1_000_000);
    const whole = await fn.fetch('http://x/?bytes=60000');
    while (codes.length === 0) await pause(20);
    await pause(300);
    await t.throwsAsync(held[0]?.text() ?? Promise.resolve(), { message: /did not read a body of function "f"/ });
    await t.throwsAsync(stream.getReader().read(), { message: /read or cancel the body/ });
    t.is((await whole.arrayBuffer()).byteLength, 60_000);
    t.true(
      codes.every(text => /^EDGE_BODY_UNREAD .*function "f" of account "default"/.test(text)),
      codes.join('\n'),
    );
    t.is(await (await fn.fetch('http://x/?bytes=3')).text(), '\0\0\0');
  });

  test(`a callback that reads its stream after the call is over gets an error and no shorter body (${place})`, async t => {
    const host = await hostOf(t, options);
    let late: Promise<unknown> | undefined;
    const take = (stream: unknown): string => {
      if (!(stream instanceof ReadableStream)) return typeof stream;
      late = pause(100).then(() => new Response(stream).arrayBuffer());
      late.catch(() => {});
      return 'taken';
    };
    const fn = await host.load(SOURCE, { name: 'f', bindings: { APP: { take: (stream: unknown) => take(stream) } } });
    t.is(await fn.rpc.give(1_000_000), 'taken');
    await t.throwsAsync(late ?? Promise.resolve(), { message: /call that the stream belongs to is over/ });
  });

  test(`bucket() and kv() cancel bodies that the application holds and does not read (${place})`, async t => {
    const host = await hostOf(t, { ...options, unreadMs: 100 });
    const codes = codesOf(host);
    await host.bucket('files').put('a', new Uint8Array(2_000_000));
    await host.kv('values').put('a', new Uint8Array(2_000_000));
    const object = await host.bucket('files').get('a');
    const value = await host.kv('values').get('a', 'stream');
    while (codes.length < 2) await pause(20);
    t.regex(codes.join('\n'), /EDGE_BODY_UNREAD .*bucket "files" of account "default"/);
    t.regex(codes.join('\n'), /EDGE_BODY_UNREAD .*kv "values" of account "default"/);
    if (object === null || !('body' in object)) throw new Error('no object');
    await t.throwsAsync(object.arrayBuffer(), { message: /read or cancel the body/ });
    await t.throwsAsync(value?.getReader().read() ?? Promise.resolve(), { message: /read or cancel the body/ });
  });
}
