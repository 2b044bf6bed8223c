/** CompressionStream and DecompressionStream of the format `brotli`, which functions have on every line of Node. */
import { brotliCompressSync, brotliDecompressSync } from 'node:zlib';
import test from 'ava';
import { handler, ISOLATIONS, newHost, textOf } from '../new-host.js';

for (const isolation of ISOLATIONS) {
  test(`CompressionStream writes Brotli that others read, and DecompressionStream what others wrote (${isolation})`, async t => {
    const fn = await newHost(t, { isolation }).load(
      handler(`const Stream = request.url.endsWith('/pack') ? CompressionStream : DecompressionStream;
        return new Response(request.body.pipeThrough(new Stream('brotli')))`),
    );
    const text = Buffer.from('some text that is worth it '.repeat(20_000));
    const packed = await fn.fetch('http://x/pack', { method: 'POST', body: text });
    const bytes = Buffer.from(await packed.arrayBuffer());
    t.true(bytes.length < 2000, String(bytes.length));
    t.deepEqual(brotliDecompressSync(bytes), text);
    const body = brotliCompressSync(text);
    const unpacked = await fn.fetch('http://x/unpack', { method: 'POST', body });
    t.deepEqual(Buffer.from(await unpacked.arrayBuffer()), text);
  });
}

test('DecompressionStream of Brotli refuses garbage, what ends too early, and what goes on after the end', async t => {
  const fn = await newHost(t).load(
    handler(`const stream = request.body.pipeThrough(new DecompressionStream('brotli'));
      return new Response(await new Response(stream).text().catch(error => error.name + ': ' + error.message))`),
  );
  const whole = brotliCompressSync(Buffer.from('text '.repeat(100)));
  for (const [body, answer] of [
    [Buffer.from([0x11, 0xff, 0xff]), /^TypeError: The compressed data is not valid/],
    [whole.subarray(0, -1), /^TypeError: /],
    [Buffer.concat([whole, Buffer.from('more')]), /^TypeError: There is more data after the end/],
    [whole, /^(?:text ){100}$/],
  ] as const) {
    t.regex(await textOf(fn.fetch('http://x/', { method: 'POST', body: new Uint8Array(body) })), answer);
  }
});

test('CompressionStream names the formats that there are', async t => {
  const fn = await newHost(t).load(
    handler(`try { new CompressionStream('br') } catch (error) { return new Response(String(error)) }`),
  );
  t.is(
    await textOf(fn.fetch('http://x/')),
    'TypeError: The format of the stream is "br", expected one of "brotli", "deflate", "deflate-raw", "gzip"',
  );
});
