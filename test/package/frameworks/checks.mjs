/** What a function behind every framework has to do: exact bodies, long ones, streams, repeated headers, status and URL. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { get } from 'node:http';

/** Answers with the body of the request, and tells its path, two cookies and a status. */
export const ECHO = `export default {
  fetch(request) {
    const { pathname, search } = new URL(request.url);
    const headers = new Headers([['set-cookie', 'a=1'], ['set-cookie', 'b=2'], ['x-path', pathname + search]]);
    const status = request.method === 'PUT' ? 201 : 200;
    return new Response(request.body ?? 'no body', { status, headers });
  },
};`;

/** Not what a parser and JSON.stringify() would make of it. */
export const ODD_JSON = '{ "a" :  1.0 }';

export async function checkEcho(url, { path = new URL(url).pathname } = {}) {
  const simple = await fetch(`${url}?q=1`);
  assert.equal(await simple.text(), 'no body');
  assert.equal(simple.headers.get('x-path'), `${path}?q=1`);
  assert.deepEqual(await cookiesOf(url), ['a=1', 'b=2']);
  const put = await fetch(url, { method: 'PUT', body: 'x'.repeat(300_000) });
  assert.equal(put.status, 201);
  assert.equal((await put.text()).length, 300_000);
  await checkJson(url);
  const streamed = ReadableStream.from(['one ', 'two ', 'three'].map(text => Buffer.from(text)));
  const response = await fetch(url, { method: 'POST', body: streamed, duplex: 'half' });
  assert.equal(await response.text(), 'one two three');
}

export async function checkJson(url) {
  assert.equal(await (await postJson(url)).text(), ODD_JSON);
}

/** A body that was parsed, and whose bytes are gone, is refused by a text; nothing arrives empty. */
export async function checkRefusal(url) {
  const response = await postJson(url);
  assert.equal(response.status, 500);
  assert.equal((await response.json()).error.code, 'EDGE_BODY_READ');
}

function postJson(url) {
  const headers = { 'content-type': 'application/json', accept: 'application/json' };
  return fetch(url, { method: 'POST', body: ODD_JSON, headers });
}

/** As they are on the wire. */
async function cookiesOf(url) {
  const [response] = await once(get(url), 'response');
  response.resume();
  return response.headers['set-cookie'];
}
