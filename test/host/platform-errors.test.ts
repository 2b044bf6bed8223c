/** Where an author finds the place of an error that the platform has made, long after the call: in the function that waits for it. */
import test, { type ExecutionContext } from 'ava';
import { type EdgeError, EdgeHost } from '../../src/index.js';
import { ISOLATIONS, type Isolation, nextInvocation, nextLog } from './new-host.js';

const hosts = new Map<Isolation, EdgeHost>();

test.before(() => {
  for (const isolation of ISOLATIONS) {
    hosts.set(isolation, new EdgeHost({ storage: ':memory:', isolation, spareIsolates: 0, warmCells: 0 }));
  }
});

test.after.always(async () => {
  for (const host of hosts.values()) await host.close({ drainMs: 0 });
});

let serial = 0;

/** What the function rejects with, and what the `invocation` event has of it. */
async function failureOf(
  t: ExecutionContext,
  isolation: Isolation,
  statement: string,
  use = 'await work(request, env); return new Response();',
) {
  const host = hosts.get(isolation);
  if (host === undefined) throw new Error('No host');
  const name = `f${++serial}`;
  const source = `async function work(request, env) {
    ${statement};
  }
  export default { async fetch(request, env) { ${use} } };`;
  const bindings = {
    APP: {
      fail() {
        throw new RangeError('no');
      },
    },
  };
  const fn = await host.load(source, { name, buckets: { FILES: 'files' }, bindings });
  const over = nextInvocation(host, event => event.function === name);
  const request = new Request('http://x/', { method: 'POST', body: '{bad' });
  const error = await t.throwsAsync<EdgeError>(fn.fetch(request), { code: 'EDGE_HANDLER_THREW' });
  const stack = String(error?.cause instanceof Error && error.cause.stack);
  return { name, location: error?.location, stack, event: (await over).error?.stack };
}

for (const isolation of ISOLATIONS) {
  for (const [what, statement] of [
    ['request.json() of what is no JSON', 'await request.json()'],
    ['response.json() of a stream', 'await new Response(new Blob(["{"]).stream()).json()'],
    ['request.text() of a body that was read', 'await request.text(); await request.text()'],
    ['request.formData() of another type', 'await request.formData()'],
    ['fetch() of a port that is refused', 'await fetch("http://127.0.0.1:1/")'],
    ['fetch() of another scheme', 'await fetch("ftp://x/")'],
    ['fetch() of no URL', 'await fetch("http://")'],
    ['fetch() beside others', 'await Promise.all([fetch("http://127.0.0.1:1/"), 1])'],
    ['put() without a key', 'await env.FILES.put()'],
    ['put() with a key that is too long', 'await env.FILES.put("k".repeat(2000), "x")'],
    ['put() with a checksum of something else', 'await env.FILES.put("k", "x", { sha256: "00".repeat(32) })'],
    ['get() of a range that is none', 'await env.FILES.get("k", { range: { offset: -1 } })'],
    ['list() of a negative number', 'await env.FILES.list({ limit: -5 })'],
    ['an upload that there is none of', 'await env.FILES.resumeMultipartUpload("k", "none").complete([])'],
    [
      'importKey() of a short key',
      'await crypto.subtle.importKey("raw", new Uint8Array(3), "AES-GCM", false, ["encrypt"])',
    ],
    ['digest() of an unknown algorithm', 'await crypto.subtle.digest("MD9", new Uint8Array(3))'],
    ['a callback of the application', 'await env.APP.fail()'],
    [
      'a cache',
      'await caches.default.put("http://x/", new Response("", { headers: { vary: "a b" }, status: 200, statusText: "x".repeat(2000) }))',
    ],
  ] as const) {
    test(`the rejection of ${what} has the place that waits for it (${isolation})`, async t => {
      const { name, location, stack, event } = await failureOf(t, isolation, statement);
      t.like(location, { file: `${name}.js`, line: 2 });
      t.regex(
        stack,
        new RegExp(
          `^[^\\n]+\\n    at (?:async )?work \\(${name}\\.js:2:\\d+\\)\\n    at (?:async )?Object\\.fetch \\(${name}\\.js:4:`,
        ),
      );
      t.notRegex(stack, /edgehost|node:|\/src\//);
      t.is(event, stack);
    });
  }

  for (const [what, statement] of [
    ['fetch() that is returned', 'return fetch("http://127.0.0.1:1/")'],
    ['fetch() with callbacks', 'return fetch("http://127.0.0.1:1/").then(response => response.text())'],
    [
      'fetch() that is waited for later',
      'const call = fetch("http://127.0.0.1:1/"); await scheduler.wait(20); await call',
    ],
    ['request.json() that is returned', 'return request.json()'],
    ['crypto.subtle that is returned', 'return crypto.subtle.digest("MD9", new Uint8Array(3))'],
  ] as const) {
    test(`the rejection of ${what} has the place of the call, also after many calls (${isolation})`, async t => {
      const calls = 'for (let n = 0; n < 40; n++) await crypto.subtle.digest("SHA-1", new Uint8Array(1))';
      for (const before of ['', `${calls}; try { await fetch("ftp://x/") } catch {}`]) {
        const { name, location, stack } = await failureOf(
          t,
          isolation,
          `${before}; ${statement}`,
          'return work(request, env);',
        );
        t.like(location, { file: `${name}.js`, line: 2 });
        t.regex(stack, new RegExp(`^[^\\n]+\\n    at (?:async )?work \\(${name}\\.js:2:\\d+\\)`));
        t.notRegex(stack, /edgehost|node:|\/src\//);
      }
    });
  }

  test(`error.stack inside of the function, and the log of a rejection that nobody handles, have it too (${isolation})`, async t => {
    const host = hosts.get(isolation);
    if (host === undefined) return t.fail();
    const name = `f${++serial}`;
    const source = `export default { async fetch(request) {
      (async () => {
        await fetch("http://127.0.0.1:1/");
      })();
      try {
        await request.json();
      } catch (error) { await scheduler.wait(50); return new Response(error.stack); }
    } };`;
    const fn = await host.load(source, { name });
    const logged = nextLog(host, name);
    const answer = await fn.fetch('http://x/', { method: 'POST', body: '{bad' });
    t.regex(await answer.text(), new RegExp(`\\n    at async Object\\.fetch \\(${name}\\.js:6:`));
    t.regex(await logged, new RegExp(`\\n    at async ${name}\\.js:3:`));
  });
}
