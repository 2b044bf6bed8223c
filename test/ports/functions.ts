/** Sources of functions as they are written for other platforms. */

export const RUNNING = {
  imageProxy: `export default { async fetch(request) {
    const found = await fetch('https://images.example/a.png', { cf: { cacheTtl: 5 } });
    const response = new Response(found.body, found);
    response.headers.set('Cache-Control', 'max-age=1500');
    return response;
  } };`,

  uploads: `export default { async fetch(request, env) {
    const { pathname } = new URL(request.url);
    if (request.method === 'POST') {
      const file = (await request.formData()).get('file');
      const bytes = await file.arrayBuffer();
      const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
      const sha256 = [...digest].map(byte => byte.toString(16).padStart(2, '0')).join('');
      await env.FILES.put(file.name, bytes, { httpMetadata: { contentType: file.type }, sha256 });
      return new Response(sha256, { status: 201 });
    }
    if (pathname === '/') return Response.json((await env.FILES.list()).objects.map(({ key }) => key));
    const object = await env.FILES.get(pathname.slice(1), { onlyIf: request.headers, range: request.headers });
    if (object === null) return new Response('none', { status: 404 });
    const headers = new Headers({ etag: object.httpEtag });
    object.writeHttpMetadata(headers);
    if (!object.body) return new Response(null, { status: 304, headers });
    return new Response(object.body, { status: request.headers.has('range') ? 206 : 200, headers });
  } };`,

  login: `
  const toText = buffer => btoa(String.fromCharCode(...new Uint8Array(buffer))).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
  const toBytes = text => Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), character => character.charCodeAt(0));
  const encode = text => new TextEncoder().encode(text);
  export default { async fetch(request, env) {
    const url = new URL(request.url);
    const key = await crypto.subtle.importKey('raw', encode(env.SECRET), { name: 'HMAC', hash: 'SHA-256' }, false, ['sign', 'verify']);
    if (url.pathname === '/login') {
      const verifier = toText(crypto.getRandomValues(new Uint8Array(32)));
      const challenge = toText(await crypto.subtle.digest('SHA-256', encode(verifier)));
      const signature = toText(await crypto.subtle.sign('HMAC', key, encode(verifier)));
      const location = 'https://login.example/authorize?code_challenge_method=S256&code_challenge=' + challenge;
      return new Response(null, { status: 302, headers: { location, 'set-cookie': 'state=' + verifier + '.' + signature + '; HttpOnly; Secure' } });
    }
    const [, verifier, signature] = /state=([\\w-]+)\\.([\\w-]+)/.exec(request.headers.get('cookie')) ?? [];
    if (!(await crypto.subtle.verify('HMAC', key, toBytes(signature), encode(verifier)))) return new Response('forged', { status: 400 });
    const body = new URLSearchParams({ code_verifier: verifier, code: url.searchParams.get('code') });
    return Response.json(await (await fetch('https://login.example/token', { method: 'POST', body })).json());
  } };`,

  webhook: `export default { async fetch(request, env) {
    const body = await request.text();
    const { t, v1 } = Object.fromEntries(request.headers.get('x-signature').split(',').map(part => part.split('=')));
    const encode = text => new TextEncoder().encode(text);
    const key = await crypto.subtle.importKey('raw', encode(env.SECRET), { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
    const expected = await crypto.subtle.sign('HMAC', key, encode(t + '.' + body));
    const given = Uint8Array.from(v1.match(/../g), pair => Number.parseInt(pair, 16));
    return new Response(crypto.subtle.timingSafeEqual(expected, given) ? 'ok' : 'bad');
  } };`,

  tokens: `export default { async fetch(request, env, context) {
    const { readable, writable } = new TransformStream();
    const writer = writable.getWriter();
    const write = async () => {
      for (const token of 'abc') await writer.write(new TextEncoder().encode('data: ' + token + '\\n\\n'));
      await writer.close();
    };
    context.waitUntil(write());
    return new Response(readable, { headers: { 'content-type': 'text/event-stream' } });
  } };`,

  cron: `export default {
    async scheduled(controller, env, context) { context.waitUntil(env.FILES.put('cron', controller.cron)); },
    async fetch(request, env) { return new Response((await env.FILES.get('cron')).body); },
  };`,

  consumer: `export default { queue(batch) {
    for (const message of batch.messages) message.body === 'bad' ? message.retry({ delaySeconds: 5 }) : message.ack();
  } };`,

  classic: `addEventListener('fetch', event => {
    event.respondWith(new Response(GREETING + ' ' + new URL(event.request.url).pathname));
  });`,
} as const;

export interface Absent {
  readonly source: string;
  readonly code: string;
  /** Part of the message. */
  readonly text: string;
  /** Whether Node's modules are there. @default true */
  readonly hasNode?: boolean;
}

const answering = (expression: string): string =>
  `export default { async fetch(request, env) { return ${expression}; } };`;
const importing = (statement: string): string => `${statement}\n${answering('new Response()')}`;
const THREW = 'EDGE_HANDLER_THREW';
const IMPORT = 'EDGE_SCRIPT_IMPORT';

export const ABSENT = {
  HTMLRewriter: { source: answering('new HTMLRewriter()'), code: THREW, text: 'HTMLRewriter is not supported' },
  WebAssembly: { source: answering('WebAssembly.compile(request)'), code: THREW, text: 'WebAssembly is not defined' },
  'the global Buffer': {
    source: answering('Buffer.from("a")'),
    code: THREW,
    text: 'Buffer is not defined',
    hasNode: false,
  },
  'code from text': {
    source: answering('new Function("return 1")()'),
    code: THREW,
    text: 'Code generation from strings',
  },
  'a key-value binding': { source: answering('env.KV.get("a")'), code: THREW, text: "(reading 'get')" },
  'modules of Node': {
    source: importing('import { Buffer } from "node:buffer";'),
    code: IMPORT,
    text: `imports "node:buffer", which is not among the modules of the deployment: Node's modules need the compatibility flag`,
    hasNode: false,
  },
  'modules of another platform': {
    source: importing('import { Pipeline } from "cloudflare:pipelines";'),
    code: IMPORT,
    text: ': the built-in modules are edgehost:workers',
  },
  'a package': {
    source: importing('import { Hono } from "hono";'),
    code: IMPORT,
    text: ': packages have to be bundled with the function, for example by esbuild',
  },
  'a package while it runs': { source: answering('import("hono")'), code: THREW, text: 'packages have to be bundled' },
  'a module of WebAssembly': {
    source: importing('import module from "./a.wasm";'),
    code: IMPORT,
    text: ': WebAssembly is not available in functions',
  },
  'a module of the network': {
    source: importing('import "https://modules.example/a.js";'),
    code: IMPORT,
    text: ': nothing is imported over the network',
  },
} as const satisfies Readonly<Record<string, Absent>>;
