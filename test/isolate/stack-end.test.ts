/** What a function calls of the host when hardly any stack is left: it gets a RangeError, and its isolate and connection go on. */
import test from 'ava';
import { errorCode } from '../../src/quotas/errors.js';
import { ISOLATIONS, newHost } from '../host/new-host.js';

/** Runs `step` at every depth near the end of the stack, by frames of several sizes, so that it ends at every place of the host's code. */
const SOURCE = `
  import { StatefulObject } from 'edgehost:workers';
  function atTheEdge(step, most) {
    let left = 0;
    const errors = new Set();
    const here = () => {
      if (left-- <= 0) return;
      try { step(); } catch (error) { errors.add(error instanceof RangeError ? 'RangeError' : error.name + ': ' + error.message); }
    };
    const dives = [
      function dive() { try { dive(); } catch {} here(); },
      function dive(a) { try { dive(1); } catch {} here(); },
      function dive(a, b, c) { try { dive(a, b, 3); } catch {} here(); },
      function dive(a, b, c, d, e, f) { let g = a, h = b, i = c; try { dive(g, h, i, d, e, f); } catch {} here(); return [g, h, i]; },
    ];
    for (let pad = 0; pad < 8; pad++) {
      for (const dive of dives) {
        left = most;
        const padded = (...args) => { try { dive(); } catch {} };
        try { padded(...new Array(pad)); } catch {}
      }
    }
    return [...errors];
  }
  let requests = 0;
  const TEXT = 'é'.repeat(500);
  const ignore = promise => { promise?.catch?.(() => {}); };
  export class Store extends StatefulObject {
    run(what) {
      const { storage } = this.ctx;
      const steps = {
        'kv.put': () => storage.kv.put('k', TEXT),
        'kv.get': () => storage.kv.get('k'),
        'sql.exec': () => storage.sql.exec('SELECT ?', TEXT).toArray(),
      };
      const errors = atTheEdge(steps[what], 150);
      storage.kv.put('after', 'stored');
      return { errors, requests: ++requests, after: storage.kv.get('after') };
    }
  }
  export default {
    async fetch(request, env) {
      const what = decodeURIComponent(new URL(request.url).pathname.slice(1));
      if (what.includes('.')) return Response.json(await env.STORE.getByName('one').run(what));
      const bytes = new Uint8Array(10_000);
      const steps = {
        log: () => console.log(TEXT),
        'key-value': () => ignore(env.KV.put('k', TEXT)),
        bucket: () => ignore(env.FILES.put('k', bytes)),
        stream: () => ignore(env.FILES.put('k', new Blob([bytes]).stream())),
        fetch: () => ignore(fetch('http://nowhere.example/' + TEXT, { method: 'POST', body: bytes })),
        timer: () => { setTimeout(() => {}, 1); },
        digest: () => ignore(crypto.subtle.digest('SHA-256', bytes)),
      };
      const errors = atTheEdge(steps[what], 150);
      await env.KV.put('after', 'stored');
      return Response.json({ errors, requests: ++requests, after: await env.KV.get('after') });
    },
  };`;

const CALLS = ['log', 'key-value', 'bucket', 'stream', 'fetch', 'timer', 'digest', 'kv.put', 'kv.get', 'sql.exec'];

/** The others are calls of the object, which counts its own. */
const GUESTS = CALLS.findIndex(what => what.includes('.'));

for (const isolation of ISOLATIONS) {
  test(`an isolate goes on after calls of the host near the end of its stack (isolation ${isolation})`, async t => {
    t.timeout(120_000);
    const limits = { cpuMs: 20_000, memoryBytes: 512 * 2 ** 20, subrequests: 100_000, internalSubrequests: 100_000 };
    const host = newHost(t, { isolation, limits, outbound: () => new Response('answered') });
    const bindings = { kv: { KV: 'kv' }, buckets: { FILES: 'files' }, objects: { STORE: 'Store' } };
    const fn = await host.load(SOURCE, { name: 'f', ...bindings });
    for (const [index, what] of CALLS.entries()) {
      const answer: unknown = await fn.fetch(`http://x/${what}`).then(
        response => response.json(),
        (error: unknown) => ({ failed: `${errorCode(error)}: ${error instanceof Error ? error.message : ''}` }),
      );
      // It is the same isolate: its variables are there.
      const expected = {
        errors: ['RangeError'],
        requests: 1 + (index < GUESTS ? index : index - GUESTS),
        after: 'stored',
      };
      t.deepEqual(answer, expected, what);
    }
  });
}
