import test from 'ava';
import fc from 'fast-check';
import { inGuest } from '../guest.js';

test('Response body methods read every kind of body', async t => {
  const run = `const r = () => new Response('{"a":1}', { headers: { 'content-type': 'application/json; charset=x' } });
    const blob = await r().blob();
    return [await r().text(), await r().json(), (await r().arrayBuffer()).byteLength, (await r().bytes())[0], blob.size, blob.type];`;
  t.deepEqual(await inGuest(t, run), ['{"a":1}', { a: 1 }, 7, 123, 7, 'application/json;charset=x']);
});

test('Response body methods reject when the body was read', async t => {
  const run = `const r = new Response('a'); await r.text(); const seen = [r.bodyUsed];
    for (const m of ['text', 'json', 'bytes', 'blob', 'arrayBuffer', 'formData']) seen.push(await r[m]().catch(e => e.name)); return seen;`;
  t.deepEqual(await inGuest(t, run), [true, ...Array(6).fill('TypeError')]);
});

test('Response body methods reject when the receiver is another object', async t => {
  t.is(await inGuest(t, `return Response.prototype.text.call({}).catch(e => e.name)`), 'TypeError');
});

test('Response of a locked stream is refused', async t => {
  t.is(
    await inGuest(
      t,
      `const s = new ReadableStream(); s.getReader(); try { new Response(s) } catch (e) { return e.name }`,
    ),
    'TypeError',
  );
});

test('a Proxy is a body like any other object, also one whose traps throw or that was revoked', async t => {
  const run = `const trapped = new Proxy({ toString: () => 'text' }, { getOwnPropertyDescriptor() { throw new Error('trap') } });
    const { proxy, revoke } = Proxy.revocable({}, {}); revoke();
    const texts = [await new Response(trapped).text()];
    try { new Response(proxy) } catch (e) { texts.push(e.message.includes('getOwnPropertyDescriptor')) }
    return texts`;
  t.deepEqual(await inGuest(t, run), ['text', false]);
});

test('arrayBuffer() of one clone does not change the other', async t => {
  const run = `const a = new Response(new Uint8Array([1, 2])); const b = a.clone(); (await a.bytes())[0] = 9; return [...await b.bytes()]`;
  t.deepEqual(await inGuest(t, run), [1, 2]);
});

test('body of bytes is a copy', async t => {
  t.deepEqual(
    await inGuest(t, `const u = new Uint8Array([1]); const r = new Response(u); u[0] = 2; return [...await r.bytes()]`),
    [1],
  );
});

test('chunks of a body or a Blob are memory that nothing else holds', async t => {
  const run = `const u = new Uint8Array([1, 2]); const blob = new Blob([u]); const a = new Response(u); const b = a.clone(); const seen = [];
    for (const s of [blob.stream(), new Response(blob).body, a.body]) { const { value } = await s.getReader().read(); seen.push([...value]); value[0] = 9; }
    return [...seen, [...await blob.bytes()], [...await b.bytes()], [...u]];`;
  t.deepEqual(await inGuest(t, run), Array(6).fill([1, 2]));
});

test('chunks of a stream of the function are taken from whoever enqueued them into a FixedLengthStream', async t => {
  const run = `const { readable, writable } = new FixedLengthStream(2); const w = writable.getWriter(); const u = new Uint8Array([1, 2]);
    w.write(u); w.close(); const { value } = await readable.getReader().read(); u[0] = 9; return [...value];`;
  t.deepEqual(await inGuest(t, run), [1, 2]);
});

test('body can be read in buffers of the reader', async t => {
  const run = `const reader = new Response('abcdef').body.getReader({ mode: 'byob' }); const { value } = await reader.read(new Uint8Array(4));
    const end = await reader.read(new Uint8Array(4)); const over = await reader.read(new Uint8Array(1)); return [[...value], [...end.value], over.done]`;
  t.deepEqual(await inGuest(t, run), [[97, 98, 99, 100], [101, 102], true]);
});

test('formData() gives back what a form was made of', async t => {
  const name = fc.string({ unit: 'grapheme', maxLength: 20 });
  const entries = fc.array(
    fc.tuple(name, fc.oneof(name, fc.record({ bytes: fc.uint8Array({ maxLength: 50 }), file: name }))),
    { maxLength: 8 },
  );
  await fc.assert(
    fc.asyncProperty(entries, async given => {
      const run = `const form = new FormData();
        for (const [name, value] of ${JSON.stringify(given, (_, v: unknown) => (v instanceof Uint8Array ? [...v] : v))}) {
          if (typeof value === 'string') form.append(name, value); else form.append(name, new Blob([new Uint8Array(value.bytes)]), value.file);
        }
        const back = await new Response(form).formData(); const seen = [];
        for (const [name, value] of back) seen.push([name, typeof value === 'string' ? value : { bytes: [...await value.bytes()], file: value.name }]);
        return seen;`;
      const lines = (text: string): string => text.replace(/\r\n?|\n/g, '\r\n');
      const expected = given.map(([key, value]) => [
        lines(key),
        typeof value === 'string' ? lines(value) : { bytes: [...value.bytes], file: value.file },
      ]);
      t.deepEqual(await inGuest(t, run), expected);
    }),
    { numRuns: 25 },
  );
});

for (const [what, body] of [
  ['no closing boundary', `--x\\r\\nContent-Disposition: form-data; name="a"\\r\\n\\r\\nv`],
  ['no name', `--x\\r\\nContent-Disposition: form-data\\r\\n\\r\\nv\\r\\n--x--`],
  ['no boundary at all', `hello`],
  ['a header without end', `--x\\r\\nContent-Disposition: form-data; name="a`],
  ['nothing', ``],
] as const) {
  test(`formData() rejects when multipart has ${what}`, async t => {
    const run = `return new Response("${body.replaceAll('"', '\\"')}", { headers: { 'content-type': 'multipart/form-data; boundary=x' } }).formData().catch(e => e.name)`;
    t.is(await inGuest(t, run), 'TypeError');
  });
}

test('Blob.slice() agrees with Array.slice()', async t => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.uint8Array({ maxLength: 9 }), { maxLength: 4 }),
      fc.integer({ min: -40, max: 40 }),
      fc.integer({ min: -40, max: 40 }),
      async (parts, a, b) => {
        const run = `return [...await new Blob(${JSON.stringify(parts.map(part => [...part]))}.map(p => new Uint8Array(p))).slice(${a}, ${b}).bytes()]`;
        t.deepEqual(await inGuest(t, run), parts.flatMap(part => [...part]).slice(a, b));
      },
    ),
    { numRuns: 40 },
  );
});

test('FixedLengthStream sends its length and refuses more bytes', async t => {
  const run = `const f = new FixedLengthStream(3); const w = f.writable.getWriter(); w.write(new Uint8Array(4)).catch(() => {});
    return new Response(f.readable).text().catch(e => e.message)`;
  t.is(await inGuest(t, run), 'FixedLengthStream: 4 bytes were written, 3 are expected');
});

test('text(), json() and Blob.text() leave a byte order mark out, whatever the body is made of', async t => {
  const run = `const mark = '\\uFEFF'; const bytes = new TextEncoder().encode(mark + '1'); const seen = [];
    for (const body of [mark + '1', bytes, new Blob([bytes]), new Response(bytes).body]) seen.push(await new Response(body).text());
    return [...seen, await new Response(mark + '1').json(), await new Blob([mark + '1']).text(), (await new Response(mark + '1').bytes()).length];`;
  t.deepEqual(await inGuest(t, run), ['1', '1', '1', '1', 1, '1', 4]);
});

test('formData() keeps byte order marks, and decodes escapes and bytes together', async t => {
  const run = `const mark = '\\uFEFF'; const form = async (body, type) => [...await new Response(body, { headers: { 'content-type': type } }).formData()].flat();
    const part = '--x\\r\\ncontent-disposition: form-data; name="a"\\r\\n\\r\\n' + mark + 'b\\r\\n--x--\\r\\n';
    const query = 'application/x-www-form-urlencoded;charset=windows-1252';
    return [await form(part, 'multipart/form-data; boundary=x'), await form(mark + 'a=' + mark, query), await form(new Uint8Array([97, 61, 0xe2, 37, 56, 50, 37, 65, 67, 38, 98, 61, 0xff]), query)];`;
  t.deepEqual(await inGuest(t, run), [
    ['a', '\uFEFFb'],
    ['\uFEFFa', '\uFEFF'],
    ['a', '€', 'b', '\uFFFD'],
  ]);
});
