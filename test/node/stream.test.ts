import test from 'ava';
import { sameAsNode } from './same-as-node.js';

const IMPORTS = `import stream, { addAbortSignal, compose, Duplex, PassThrough, pipeline, Readable, Transform, Writable } from 'node:stream';
import * as promises from 'stream/promises';
import * as consumers from 'node:stream/consumers';
import { ReadableStream as WebReadable } from 'node:stream/web';
import { Buffer } from 'node:buffer';`;

test('node:stream reads, writes, transforms and connects streams as in Node', async t => {
  await sameAsNode(
    t,
    IMPORTS,
    `print(typeof stream, stream.Stream === stream, stream.Readable === Readable, stream.promises === promises.default);
    print(Object.keys(promises.default));
    for await (const chunk of Readable.from(['a', 'b', 'c'])) print(chunk);
    print(await Readable.from([1, 2, 3, 4]).filter(n => n % 2 === 0).map(async n => n * 10).toArray());
    const upper = new Transform({ transform(chunk, encoding, done) { done(null, chunk.toString().toUpperCase()); } });
    let text = '';
    await promises.pipeline(Readable.from(['x', 'y']), upper, async source => { for await (const c of source) text += c; });
    print(text);
    const full = new Writable({ write(chunk, encoding, done) { done(new Error('full')); } });
    await new Promise(resolve => pipeline(Readable.from(['a']), full, error => { print(error); resolve(); }));
    const stopped = new Readable({ read() {} });
    const controller = new AbortController();
    addAbortSignal(controller.signal, stopped).on('error', error => print(error.name, error.code));
    controller.abort();
    await new Promise(resolve => stopped.on('close', resolve));
    const exclaim = async function* (source) { for await (const chunk of source) yield String(chunk) + '!'; };
    print(await consumers.text(compose(exclaim, new PassThrough()).end('c')));
    for (const bad of [() => new Writable().write(null), () => Readable.from(5), () => pipeline(Readable.from([]))]) attempt(bad);
    const late = new Writable({ write(chunk, encoding, done) { done(); } });
    const failed = new Promise(resolve => late.on('error', resolve));
    late.end(); late.write('x'); print(await failed);
    print(Readable.from(['a']) instanceof stream, new PassThrough() instanceof Writable);
    print(new Readable({ objectMode: true }).readableHighWaterMark);`,
  );
});

test('node:stream/consumers take the content of streams of both kinds as in Node', async t => {
  await sameAsNode(
    t,
    IMPORTS,
    `const joined = new PassThrough(); joined.write('one'); joined.end('two'); print(await consumers.text(joined));
    print(await consumers.json(Readable.from(['{"a":', '1}'])));
    const hi = () => Readable.from([Buffer.from('hi')]);
    print([...new Uint8Array(await consumers.arrayBuffer(hi()))], (await consumers.buffer(hi())).toString('hex'));
    print((await consumers.blob(Readable.from(['abc']))).size);
    const parts = [new Uint8Array([0xe2, 0x82]), new Uint8Array([0xac])];
    print(await consumers.text(new WebReadable({ start(c) { for (const part of parts) c.enqueue(part); c.close(); } })));`,
  );
});

test('toWeb() and fromWeb() carry chunks, backpressure, errors and the end as in Node', async t => {
  await sameAsNode(
    t,
    IMPORTS,
    `const web = Readable.toWeb(Readable.from([Buffer.from('to'), Buffer.from('web')], { objectMode: false }));
    for await (const part of web) print(part.constructor.name, [...part]);
    print(await consumers.text(Readable.fromWeb(new WebReadable({ start(c) { c.enqueue('f'); c.enqueue('w'); c.close(); } }))));
    const got = [];
    const slow = new Writable({ highWaterMark: 2, write(chunk, e, done) { setTimeout(() => { got.push(String(chunk)); done(); }, 1); } });
    const writer = Writable.toWeb(slow).getWriter();
    writer.write('abc'); writer.write('def'); await writer.close(); print(got);
    const into = [];
    const target = new WritableStream({ write(chunk) { into.push([...chunk]); }, close() { into.push('closed'); } });
    const node = Writable.fromWeb(target);
    await new Promise(resolve => node.end('xyz', resolve)); print(into);
    const failing = Readable.fromWeb(new WebReadable({ pull(c) { c.error(new Error('web fails')); } }));
    try { await consumers.text(failing); } catch (error) { print(error); }
    const bad = Readable.toWeb(new Readable({ read() { this.destroy(new Error('node fails')); } }));
    try { await bad.getReader().read(); } catch (error) { print(error); }
    const aborted = Writable.fromWeb(new WritableStream({ abort(reason) { print('aborted', reason); } }));
    aborted.on('error', error => print(error)).destroy(new Error('stop'));
    await new Promise(resolve => aborted.on('close', resolve));
    const unread = new Readable({ read() { this.push('x'); }, destroy(error, done) { print('destroyed', error); done(); } });
    await Readable.toWeb(unread).cancel(new Error('enough'));
    const echo = Duplex.toWeb(new PassThrough());
    const echoed = echo.writable.getWriter(); echoed.write('ping'); echoed.close(); print(await consumers.text(echo.readable));
    const through = Duplex.fromWeb(new TransformStream()); through.end('through'); print(await consumers.text(through));
    const doubled = new TransformStream({ transform(chunk, controller) { controller.enqueue(chunk + chunk); } });
    await promises.pipeline(Readable.from(['a', 'b']), doubled, async source => { for await (const chunk of source) print(chunk); });
    for (const bad of [() => Readable.toWeb({}), () => Readable.fromWeb({}), () => Writable.fromWeb(1), () => Duplex.fromWeb(1)]) attempt(bad);`,
  );
});

test('node:string_decoder keeps characters across pieces as in Node', async t => {
  await sameAsNode(
    t,
    `import { StringDecoder } from 'string_decoder'; import { Buffer } from 'buffer';`,
    `const decoder = new StringDecoder('utf8');
    for (const byte of Buffer.from('a€😀')) print(decoder.write(Buffer.from([byte])), decoder.lastNeed, decoder.lastTotal);
    print(decoder.write(Buffer.from([0xe2, 0x82])), decoder.end(), decoder.end());
    print(decoder.write(Buffer.from([0xff, 0xc0, 0x80, 0xe2, 0x28])), decoder.end());
    for (const encoding of ['base64', 'hex', 'latin1', 'ascii', 'base64url', 'UTF-8', 'binary', undefined]) {
      const pieces = new StringDecoder(encoding);
      let text = '';
      for (const byte of Buffer.from('a€😀zz', 'utf16le')) text += '|' + pieces.write(Buffer.from([byte]));
      print(pieces.encoding, text + '>' + pieces.end());
    }
    const units = new StringDecoder('ucs2');
    print(units.encoding, units.write(Buffer.from('a😀', 'utf16le').subarray(0, 4)), units.write(Buffer.from([0, 0xde])), units.end(Buffer.from([65])));
    attempt(() => new StringDecoder('nope')); attempt(() => new StringDecoder().write(5));
    print(new StringDecoder().write('text'), new StringDecoder().write(new Uint16Array([0x4141])));`,
  );
});
