import test from 'ava';
import { BufferedResponse } from '../../../src/host/ingress/buffered-response.js';

const BYTES = new TextEncoder().encode('{"a":"ä"}');
const JSON_INIT = { status: 201, statusText: 'Made', headers: { 'content-type': 'application/json' } };

const whole = (init: ResponseInit = JSON_INIT): Response => new BufferedResponse(new Uint8Array(BYTES), init);
const standard = (): Response => new Response(new Uint8Array(BYTES), JSON_INIT);

test('BufferedResponse is a Response with its status and headers', t => {
  const response = whole();
  t.true(response instanceof Response);
  t.is(Object.prototype.toString.call(response), '[object Response]');
  t.is(response.status, 201);
  t.is(response.statusText, 'Made');
  t.true(response.ok);
  t.deepEqual([...response.headers], [['content-type', 'application/json']]);
  t.false(response.bodyUsed);
});

type Reader = 'text' | 'json' | 'arrayBuffer' | 'blob';
const READERS: readonly Reader[] = ['text', 'json', 'arrayBuffer', 'blob'];

for (const reader of READERS) {
  test(`${reader}() gives what a Response of Node gives`, async t => {
    const [own, nodes] = [whole(), standard()];
    t.deepEqual(await own[reader](), await nodes[reader]());
    t.true(own.bodyUsed);
  });

  test(`${reader}() rejects with TypeError when the body has been read`, async t => {
    const response = whole();
    await response.text();
    await t.throwsAsync(response[reader](), { instanceOf: TypeError });
  });

  test(`${reader}() gives the body when body has been asked for and not read`, async t => {
    const [own, nodes] = [whole(), standard()];
    t.truthy(own.body);
    t.false(own.bodyUsed);
    t.deepEqual(await own[reader](), await nodes[reader]());
    t.true(own.bodyUsed);
  });

  test(`${reader}() rejects with TypeError when the body is locked`, async t => {
    const response = whole();
    response.body?.getReader();
    await t.throwsAsync(response[reader](), { instanceOf: TypeError });
  });
}

test('text() leaves out a byte order mark', async t => {
  t.is(await new BufferedResponse(Uint8Array.of(0xef, 0xbb, 0xbf, 0x61), {}).text(), 'a');
});

test('json() rejects with SyntaxError when the body is no JSON', async t => {
  await t.throwsAsync(new BufferedResponse(Uint8Array.of(0x7b), {}).json(), { instanceOf: SyntaxError });
});

test('blob() has the content type', async t => {
  t.is((await whole().blob()).type, 'application/json');
});

test('formData() parses the body', async t => {
  const form = new BufferedResponse(new TextEncoder().encode('a=1'), {
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  });
  t.is((await form.formData()).get('a'), '1');
});

test('body streams the bytes', async t => {
  const chunks: Buffer[] = [];
  for await (const chunk of whole().body ?? []) chunks.push(Buffer.from(chunk));
  t.deepEqual(Buffer.concat(chunks), Buffer.from(BYTES));
});

test('body is the same stream each time', t => {
  const response = whole();
  t.is(response.body, response.body);
});

test('body is a stream that is over when the bytes have been read', async t => {
  const response = whole();
  await response.text();
  t.true(response.bodyUsed);
  t.throws(() => new Response(response.body), { instanceOf: TypeError });
});

test('clone() gives a response that is read on its own', async t => {
  const response = whole();
  const copy = response.clone();
  t.is(await copy.text(), await response.text());
  t.is(copy.status, 201);
  t.is(copy.headers.get('content-type'), 'application/json');
});

test('clone() throws TypeError when the body has been read', async t => {
  const response = whole();
  await response.text();
  t.throws(() => response.clone(), { instanceOf: TypeError });
});

test('new Response(body, response) takes it over', async t => {
  const source = whole();
  const response = new Response(source.body, source);
  t.is(response.status, 201);
  t.is(await response.text(), '{"a":"ä"}');
});
