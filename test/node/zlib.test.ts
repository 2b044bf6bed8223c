import test from 'ava';
import { ISOLATIONS } from '../host/new-host.js';
import { inFunction, sameAsNode } from './same-as-node.js';

const IMPORTS = `import zlib from 'node:zlib'; import { Buffer } from 'node:buffer';`;

test('calls in one piece are as in Node', async t => {
  await sameAsNode(
    t,
    IMPORTS,
    `const text = 'hello '.repeat(5000);
    for (const [pack, unpack] of [['deflate', 'inflate'], ['gzip', 'gunzip'], ['deflateRaw', 'inflateRaw'], ['gzip', 'unzip'], ['brotliCompress', 'brotliDecompress']]) {
      const packed = zlib[pack + 'Sync'](text); print(packed.toString('base64'), zlib[unpack + 'Sync'](packed).toString() === text);
      print(await new Promise(resolve => zlib[pack](text, (error, result) => zlib[unpack](result, (error, result) => resolve(error ?? result.length)))));
    }
    print(zlib.deflateSync(text, { level: 1 }).toString('hex'), zlib.deflateRawSync(text, { level: 9, windowBits: 9, memLevel: 1, strategy: 2 }).length);
    const dictionary = Buffer.from('hello '); print(zlib.inflateSync(zlib.deflateSync('hello hello', { dictionary }), { dictionary }).toString());
    attempt(() => zlib.inflateSync('nonsense')); attempt(() => zlib.gunzipSync(zlib.gzipSync(text).subarray(0, 30))); attempt(() => zlib.deflateSync(text, { level: 99 }));
    attempt(() => zlib.gunzipSync(zlib.gzipSync(text), { maxOutputLength: 100 })); attempt(() => zlib.gzipSync(5));
    print(zlib.gunzipSync(zlib.gzipSync(text).subarray(0, 60), { finishFlush: 2 }).length, zlib.crc32('hello'), zlib.crc32(Buffer.from('lo'), zlib.crc32('hel')), zlib.codes.Z_DATA_ERROR);`,
  );
});

test('streams are as in Node', async t => {
  await sameAsNode(
    t,
    IMPORTS,
    `const all = stream => new Promise(resolve => { const parts = []; stream.on('data', part => parts.push(part)); stream.on('end', () => resolve(Buffer.concat(parts))); stream.on('error', resolve); });
    const gzip = zlib.createGzip(); const done = all(gzip); gzip.write('one '); await new Promise(resolve => gzip.flush(resolve)); gzip.end('two'); print(zlib.gunzipSync(await done).toString());
    const inflate = zlib.createInflate(); const error = all(inflate); inflate.end('nonsense'); print(await error);
    const brotli = zlib.createBrotliCompress({ params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 4 } }); const packed = all(brotli); brotli.end('x'.repeat(100000)); print((await packed).length);
    const gunzip = new zlib.Gunzip(); const large = all(gunzip); gunzip.end(zlib.gzipSync(Buffer.alloc(1000000))); print((await large).length);`,
  );
});

test('a decompression bomb ends with an error, and the isolate lives', async t => {
  for (const isolation of ISOLATIONS) {
    const lines = await inFunction(
      t,
      IMPORTS,
      `let bomb = zlib.gzipSync(Buffer.alloc(8e6)); const many = Buffer.concat(Array.from({ length: 40 }, () => bomb));
      attempt(() => zlib.gunzipSync(many)); print('alive');`,
      { isolation },
    );
    t.regex(lines[0] ?? '', /ERR_BUFFER_TOO_LARGE/, isolation);
    t.is(lines[1], '"alive"', isolation);
  }
});
