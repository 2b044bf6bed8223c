/**
 * Work that other threads do for a function, and memory that they hold: CPU time is charged before anything is begun, so that no loop,
 * count or length gets any of it for nothing; memory counts to the isolate.
 */
import test from 'ava';
import { handler, newHost, nextInvocation, textOf } from '../host/new-host.js';

const PASSWORD = `const key = await crypto.subtle.importKey('raw', new Uint8Array(16), 'PBKDF2', false, ['deriveBits', 'deriveKey']);
  const salt = new Uint8Array(16);`;
const derive = (iterations: number, bits: number): string =>
  `${PASSWORD} await crypto.subtle.deriveBits({ name: 'PBKDF2', hash: 'SHA-256', salt, iterations: ${iterations} }, key, ${bits});`;
const generate = (bits: number): string =>
  `await crypto.subtle.generateKey({ name: 'RSA-PSS', hash: 'SHA-256', modulusLength: ${bits}, publicExponent: new Uint8Array([1, 0, 1]) }, false, ['sign']);`;

/** Each would burn from 200 ms to hours of the pool. */
const UNPAID: readonly (readonly [string, string])[] = [
  ['a million iterations of PBKDF2', derive(1_000_000, 256)],
  ['PBKDF2 with a megabyte to derive', derive(1000, 8_000_000)],
  ['a key of RSA with 4,096 bits', generate(4096)],
  ['many keys of RSA at once', `await Promise.all(Array.from({ length: 50 }, async () => { ${generate(2048)} }));`],
  ['digests for ever', `const bytes = new Uint8Array(1 << 20); for (;;) await crypto.subtle.digest('SHA-512', bytes);`],
  [
    'digests that nobody waits for',
    `const bytes = new Uint8Array(1 << 20); for (let n = 0; n < 500; n++) crypto.subtle.digest('SHA-512', bytes).catch(() => {}); await scheduler.wait(600_000);`,
  ],
  [
    'compressing the worst data',
    `const chunk = new Uint8Array(65536); for (let n = 0, x = 1; n < chunk.length; n++) { x = (x * 1103515245 + 12345) >>> 0; chunk[n] = 65 + (x >>> 30); }
     const { readable, writable } = new CompressionStream('gzip'); readable.pipeTo(new WritableStream());
     const writer = writable.getWriter(); for (;;) await writer.write(chunk);`,
  ],
  [
    'compressing the worst data by Brotli',
    `const chunk = new Uint8Array(65536); for (let n = 0, x = 1; n < chunk.length; n++) { x = (x * 1103515245 + 12345) >>> 0; chunk[n] = 65 + (x >>> 28); }
     const { readable, writable } = new CompressionStream('brotli'); readable.pipeTo(new WritableStream());
     const writer = writable.getWriter(); for (;;) await writer.write(chunk);`,
  ],
  [
    'a hundred compressors at once',
    `const chunk = new Uint8Array(65536); await Promise.all(Array.from({ length: 100 }, async () => {
       const { readable, writable } = new CompressionStream('deflate'); readable.pipeTo(new WritableStream());
       const writer = writable.getWriter(); for (;;) await writer.write(chunk); }));`,
  ],
];

for (const [name, body] of UNPAID) {
  test(`${name} costs CPU time, and ends the invocation past its limit`, async t => {
    const host = newHost(t, { limits: { cpuMs: 60, cpuOverrunMs: 0 } });
    const fn = await host.load(handler(`if (request.url.endsWith('bad')) { ${body} } return new Response('fine')`));
    const event = nextInvocation(host, ({ url }) => url?.endsWith('bad') === true);
    await t.throwsAsync(fn.fetch('http://x/bad'), { code: 'EDGE_CPU_LIMIT', message: /limit cpuMs is 60 ms/ });
    t.is((await event).outcome, 'exceededCpu');
    t.is(await textOf(fn.fetch('http://x/')), 'fine');
  });
}

const REFUSED: readonly (readonly [string, string])[] = [
  ['PBKDF2 with 100,000,000 iterations', derive(100_000_000, 256)],
  ['a key of RSA with 16,384 bits', generate(16_384)],
  ['hours of PBKDF2 by its length', derive(1_000_000, 8_000_000)],
];

for (const [name, body] of REFUSED) {
  test(`${name} is refused whatever the limit, since it could not be stopped`, async t => {
    const fn = await newHost(t, { limits: { cpuMs: Infinity } }).load(handler(`${body} return new Response('done')`));
    await t.throwsAsync(fn.fetch('http://x/'), { code: 'EDGE_HANDLER_THREW', message: /OperationError/ });
  });
}

test('scrypt is no way to other threads', async t => {
  const body = `${PASSWORD} await crypto.subtle.deriveBits({ name: 'scrypt', N: 2 ** 20, r: 8, p: 1, salt }, key, 256);`;
  const fn = await newHost(t).load(handler(`${body} return new Response('done')`));
  await t.throwsAsync(fn.fetch('http://x/'), { code: 'EDGE_HANDLER_THREW' });
});

test('the global scope pays for what other threads do, and fails to load past startupMs', async t => {
  const host = newHost(t);
  await t.throwsAsync(host.load(`try { ${derive(1_000_000, 1024)} } catch {}\n${handler('return new Response("")')}`), {
    code: 'EDGE_STARTUP_LIMIT',
    message: /limit startupMs is 400 ms/,
  });
});

test('a digest on the plan free is affordable', async t => {
  const fn = await newHost(t, { plan: 'free' }).load(
    handler(
      `const bytes = new Uint8Array(100_000); await crypto.subtle.digest('SHA-256', bytes); return new Response('fine')`,
    ),
  );
  t.is(await textOf(fn.fetch('http://x/')), 'fine');
});

const HELD: readonly (readonly [string, string])[] = [
  [
    'keys',
    `for (;;) all.push(await crypto.subtle.importKey('raw', new Uint8Array(1 << 20), { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']));`,
  ],
  [
    'compressors',
    `for (let n = 0; n < 127; n++) { const stream = new CompressionStream('gzip'); stream.readable.getReader().read(); stream.writable.getWriter().write(new Uint8Array(10)); all.push(stream); }
     for (let n = 0; n < 105; n++) { all.push(new Uint8Array(1 << 20).fill(1)); await scheduler.wait(0); }
     await scheduler.wait(600_000);`,
  ],
  [
    'decompressors of Brotli with large windows',
    `for (let n = 0; n < 7; n++) {
       const stream = new DecompressionStream('brotli'); stream.readable.getReader().read().catch(() => {});
       stream.writable.getWriter().write(new Uint8Array([0x0f])).catch(() => {}); all.push(stream); await scheduler.wait(0);
     }
     await scheduler.wait(600_000);`,
  ],
  [
    'the branch of a body that nobody reads',
    `const body = new ReadableStream({ pull(c) { c.enqueue(new Uint8Array(1 << 20).fill(1)); } });
     const [read, left] = body.tee(); all.push(left); for await (const chunk of read) await scheduler.wait(0);`,
  ],
];

for (const [name, body] of HELD) {
  test(`memory held by ${name} counts to the isolate`, async t => {
    const host = newHost(t, { limits: { cpuMs: 20_000 } });
    const fn = await host.load(
      handler(`const all = []; if (request.url.endsWith('bad')) { ${body} } return new Response('fine')`),
    );
    const event = nextInvocation(host, ({ url }) => url?.endsWith('bad') === true);
    await t.throwsAsync(fn.fetch('http://x/bad'), { code: 'EDGE_MEMORY_LIMIT' });
    t.is((await event).outcome, 'exceededMemory');
    t.is(await textOf(fn.fetch('http://x/')), 'fine');
  });
}

test('memory of keys and compressors that are let go is given back', async t => {
  const fn = await newHost(t, { limits: { cpuMs: 20_000 } }).load(
    handler(`for (let n = 0; n < 300; n++) {
      const { readable, writable } = new CompressionStream('gzip');
      const writer = writable.getWriter();
      writer.write(new Uint8Array(100)); writer.close();
      await new Response(readable).arrayBuffer();
    } return new Response('fine')`),
  );
  for (let n = 0; n < 3; n++) t.is(await textOf(fn.fetch('http://x/')), 'fine');
});
