/**
 * How fast the web platform of the guest realm is beside Node's own: the same small programs in both, alternating, medians of rounds.
 *
 *   npm run build && node --experimental-vm-modules dist/benchmarks/subjects/guest-micro.js [part of a name]
 */
import vm from 'node:vm';
import { Ev } from '../../src/isolate/ops/table.js';
import { createRealm } from '../../src/isolate/realm.js';
import { benchmarkHostCall } from './guest-realm.js';

/** Programs by name: the body of an asynchronous function that does its work `n` times. */
const PROGRAMS: Readonly<Record<string, string>> = {
  'Headers, 3 set and get': `for (let i = 0; i < n; i++) { const h = new Headers(); h.set('content-type', 'a'); h.set('X-One', 'b'); h.append('etag', 'c'); sink(h.get('X-One')); }`,
  'Headers of an object, iterated': `for (let i = 0; i < n; i++) for (const [k] of new Headers({ accept: '*/*', host: 'x', 'user-agent': 'y' })) sink(k);`,
  'new Request(url)': `for (let i = 0; i < n; i++) sink(new Request('https://example.com/path?query').method);`,
  'new Request with init': `for (let i = 0; i < n; i++) sink(new Request('https://example.com/', { method: 'POST', body: 'text', headers: { a: 'b' } }).url);`,
  "new Response('text')": `for (let i = 0; i < n; i++) sink(new Response('hello').status);`,
  'Response.json': `for (let i = 0; i < n; i++) sink(Response.json({ a: 1 }, { headers: { b: 'c' } }).headers.get('b'));`,
  'await response.text()': `for (let i = 0; i < n; i++) sink(await new Response('hello').text());`,
  'await response.json()': `for (let i = 0; i < n; i++) sink(await new Response('{"a":1}').json());`,
  'ReadableStream of 3 chunks': `for (let i = 0; i < n; i++) { const r = new ReadableStream({ start(c) { c.enqueue(1); c.enqueue(2); c.enqueue(3); c.close(); } }).getReader(); while (!(await r.read()).done); }`,
  'ReadableStream, for await': `for (let i = 0; i < n; i++) for await (const x of new ReadableStream({ start(c) { c.enqueue(1); c.close(); } })) sink(x);`,
  'TransformStream of 3 chunks': `for (let i = 0; i < n; i++) { const t = new TransformStream(); const w = t.writable.getWriter(); w.write(1); w.write(2); w.write(3); w.close(); for await (const x of t.readable) sink(x); }`,
  'new URL(...)': `for (let i = 0; i < n; i++) sink(new URL('https://example.com/path?a=b').pathname);`,
  'new URLSearchParams(...)': `for (let i = 0; i < n; i++) sink(new URLSearchParams('a=b&c=d').get('c'));`,
  'TextEncoder and TextDecoder': `const e = new TextEncoder(), d = new TextDecoder(); for (let i = 0; i < n; i++) sink(d.decode(e.encode('some text')));`,
  'TextEncoder, 110 characters of Latin': `const e = new TextEncoder(), text = 'The quick brown fox jumps over the lazy dog. Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich.'; for (let i = 0; i < n; i++) sink(e.encode(text));`,
  'TextEncoder, 110 of ASCII': `const e = new TextEncoder(), text = 'The quick brown fox jumps over the lazy dog. '.repeat(3).slice(0, 110); for (let i = 0; i < n; i++) sink(e.encode(text));`,
  'TextEncoder, 20 of Chinese': `const e = new TextEncoder(), text = '\u7684'.repeat(20); for (let i = 0; i < n; i++) sink(e.encode(text));`,
  'TextEncoder, 4,000 of ASCII': `const e = new TextEncoder(), text = 'a'.repeat(4000); for (let i = 0; i < n; i++) sink(e.encode(text));`,
  'TextEncoder, 4,000 of Latin': `const e = new TextEncoder(), text = 'a\u00e9'.repeat(2000); for (let i = 0; i < n; i++) sink(e.encode(text));`,
  'new Blob and its size': `for (let i = 0; i < n; i++) sink(new Blob(['some', 'text']).size);`,
  'FormData, 2 appended': `for (let i = 0; i < n; i++) { const f = new FormData(); f.append('a', 'b'); f.append('c', 'd'); sink(f.get('c')); }`,
  'Event dispatched': `const t = new EventTarget(); t.addEventListener('x', sink); for (let i = 0; i < n; i++) t.dispatchEvent(new Event('x'));`,
  'new Event': `for (let i = 0; i < n; i++) sink(new Event('x'));`,
  'structuredClone of a small object': `const o = { name: 'a small object', values: [1, 2, 3], nested: { yes: true } }; for (let i = 0; i < n; i++) sink(structuredClone(o));`,
  AbortController: `for (let i = 0; i < n; i++) { const c = new AbortController(); c.signal.addEventListener('abort', sink); c.abort(); }`,
};

const ROUNDS = 7;
const ROUND_MS = 40;

type Program = (n: number) => Promise<void>;

const realm = createRealm(benchmarkHostCall());

const compile = (body: string): string => `let kept; const sink = x => { kept = x; }; (async n => { ${body} })`;
const median = (values: number[]): number => values.sort((a, b) => a - b)[values.length >> 1] ?? 0;

async function time(program: Program, n: number): Promise<number> {
  const start = process.hrtime.bigint();
  await program(n);
  return Number(process.hrtime.bigint() - start) / n / 1000;
}

console.log(`Node ${process.version}, microseconds for one, median of ${ROUNDS} rounds\n`);
console.log('| program | guest | Node | ratio |\n|---|---|---|---|');
const wanted = process.argv[2] ?? '';
for (const [name, body] of Object.entries(PROGRAMS).filter(([name]) => name.includes(wanted))) {
  const guest: Program = vm.runInContext(`{ ${compile(body)} }`, realm.context);
  const own: Program = vm.runInThisContext(`{ ${compile(body)} }`);
  await time(guest, 500);
  const n = Math.max(1, Math.round((ROUND_MS * 1000) / (await time(own, 500))));
  const figures: { guest: number[]; own: number[] } = { guest: [], own: [] };
  for (let round = 0; round < ROUNDS; round++) {
    figures.guest.push(await time(guest, n));
    figures.own.push(await time(own, n));
  }
  const a = median(figures.guest);
  const b = median(figures.own);
  console.log(`| ${name} | ${a.toFixed(2)} | ${b.toFixed(2)} | ${(a / b).toFixed(2)} |`);
}

for (const [name, source] of [
  ['text', `fetch() { return new Response('hello'); }`],
  ['text, async', `async fetch() { return new Response('hello'); }`],
  [
    'URL, header, Response.json',
    `async fetch(request) { const u = new URL(request.url); return Response.json({ p: u.pathname, a: request.headers.get('accept') }); }`,
  ],
] as const) {
  realm.enter(Ev.Setup, JSON.stringify({ name: 'bench', env: {}, bindings: [], flags: [] }));
  realm.imported(0, vm.runInContext(`({ default: { ${source} } })`, realm.context));
  const invoke: Program = async n => {
    for (let i = 0; i < n; i++) {
      realm.enter(Ev.Fetch, 2 + 2 * i, 'GET\nhttps://example.com/path\naccept\n*/*\nuser-agent\ncurl', -1);
      if (i % 64 === 0) await undefined;
    }
    await new Promise(resolve => setImmediate(resolve));
  };
  const figures: number[] = [];
  for (let round = 0; round < ROUNDS; round++) figures.push(await time(invoke, 20_000));
  console.log(`| one invocation: ${name} | ${median(figures).toFixed(2)} | | |`);
}
