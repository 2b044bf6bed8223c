/**
 * What the tests' own server does for the tests that functions can run: files of the checkout, and its handlers (`*.py` there).
 * @see https://web-platform-tests.org/tools/wptserve/docs/
 */
import { readFileSync, statSync } from 'node:fs';
import { extname, resolve, sep } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

type Handler = (request: Request, query: URLSearchParams) => Answer | Promise<Answer>;
type HeaderPairs = [string, string][];

/** What goes over the connection as it is, which then ends: answers that no HTTP library would give. */
export interface RawAnswer {
  readonly raw: Uint8Array | AsyncIterable<Uint8Array>;
}

export type Answer = Response | RawAnswer;

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.json': 'application/json',
  '.txt': 'text/plain',
  '.css': 'text/css',
  '.png': 'image/png',
};

/** Header bytes that tests send to get them back, which the names of a Request would not show. */
export const ECHO_HEADERS = 'echo-headers.py';

/** What handlers keep between requests, by path and key. */
const stash = new Map<string, unknown>();

export async function answerTest(checkout: string, request: Request): Promise<Answer> {
  const { pathname, search } = new URL(request.url);
  // Bytes are characters there: bytes beyond ASCII are not taken for UTF-8.
  const searchParams = new URLSearchParams(
    search.replace(/%([89a-f][0-9a-f])/gi, (_, hex: string) =>
      encodeURIComponent(String.fromCharCode(Number.parseInt(hex, 16))),
    ),
  );
  const handler = HANDLERS[pathname.slice(pathname.lastIndexOf('/') + 1)];
  return handler === undefined ? answerFile(checkout, request, pathname) : handler(request, searchParams);
}

function answerFile(checkout: string, request: Request, pathname: string): Answer {
  const file = resolve(checkout, `.${decodePath(pathname)}`);
  const isFile =
    file.startsWith(checkout + sep) &&
    !file.includes('\0') &&
    !file.endsWith('.py') &&
    statSync(file, { throwIfNoEntry: false })?.isFile() === true;
  if (!isFile) return new Response('Not found', { status: 404, statusText: 'Not Found' });
  if (file.endsWith('.asis')) return { raw: Buffer.from(readHead(file), 'latin1') };
  const headers = { 'content-type': TYPES[extname(file)] ?? 'application/octet-stream' };
  return new Response(request.method === 'HEAD' ? null : readFileSync(file), { statusText: 'OK', headers });
}

/** Heads in files have lines that end in LF, and no end, which no HTTP parser of Node takes. */
function readHead(file: string): string {
  return `${readFileSync(file, 'latin1').replace(/\r?\n/g, '\r\n')}\r\n\r\n`;
}

const HANDLERS: Readonly<Record<string, Handler>> = {
  'echo-content.py': async request =>
    new Response(await request.arrayBuffer(), {
      headers: {
        'content-type': 'text/plain',
        'x-request-method': request.method,
        'x-request-content-length': request.headers.get('content-length') ?? 'NO',
        'x-request-content-type': request.headers.get('content-type') ?? 'NO',
      },
    }),

  'inspect-headers.py': (request, query) => {
    const headers: HeaderPairs = [['content-type', 'text/plain']];
    for (const name of (query.get('headers') ?? '').split('|')) {
      const value = request.headers.get(name);
      if (value !== null) headers.push([`x-request-${name}`, value]);
    }
    return new Response(null, { headers });
  },

  'method.py': async request => {
    const body = await request.arrayBuffer();
    const headers: HeaderPairs = [['x-request-method', request.method]];
    for (const name of ['type', 'length', 'encoding', 'language', 'location']) {
      const fallback = name === 'length' && body.byteLength > 0 ? `${body.byteLength}` : 'NO';
      headers.push([`x-request-content-${name}`, request.headers.get(`content-${name}`) ?? fallback]);
    }
    return new Response(request.method === 'HEAD' ? null : body, { headers });
  },

  'status.py': (request, query) => {
    const status = Number(query.get('code') ?? 200);
    const content = [204, 205, 304].includes(status) ? null : Buffer.from(query.get('content') ?? '', 'latin1');
    const headers = { 'content-type': query.get('type') ?? '', 'x-request-method': request.method };
    return new Response(content, { status, statusText: query.get('text') ?? 'OMG', headers });
  },

  'trickle.py': async (_request, query) => {
    const delayMs = Number(query.get('ms') ?? 500);
    await sleep(delayMs);
    const body = pieces(Number(query.get('count') ?? 50), 'TEST_TRICKLE\n', delayMs);
    return new Response(body, query.has('notype') ? {} : { headers: { 'content-type': 'text/plain' } });
  },

  'bad-chunk-encoding.py': async (_request, query) => {
    const delayMs = Number(query.get('ms') ?? 1000);
    await sleep(delayMs);
    return { raw: badChunks(Number(query.get('count') ?? 50), delayMs) };
  },

  'infinite-slow-response.py': (_request, query) => {
    const stateKey = query.get('stateKey');
    const abortKey = query.get('abortKey');
    let written = 0;
    const close = (): void => {
      if (stateKey !== null) stash.set(stateKey, 'closed');
    };
    if (stateKey !== null) stash.set(stateKey, 'open');
    return new Response(
      new ReadableStream({
        async pull(controller) {
          if (written > 0) await sleep(10);
          if (abortKey !== null && stash.delete(abortKey)) {
            close();
            controller.close();
            return;
          }
          controller.enqueue(new TextEncoder().encode('.'.repeat(written++ === 0 ? 2048 : 1)));
        },
        cancel: close,
      }),
      { headers: { 'content-type': 'text/plain' } },
    );
  },

  'stash-put.py': (_request, query) => {
    stash.set(query.get('key') ?? '', query.get('value') ?? '');
    return new Response('done');
  },

  'stash-take.py': (_request, query) => Response.json(takeStash(query.get('key')) ?? null),

  'clean-stash.py': (_request, query) => new Response(takeStash(query.get('token')) === undefined ? '0' : '1'),

  'redirect.py': async (_request, query) => {
    const headers: HeaderPairs = [['content-type', 'text/plain']];
    const token = query.get('token');
    const count = Number(takeStash(token) ?? 0) + 1;
    const location = query.get('location');
    if (location !== null)
      headers.push(['location', query.has('simple') ? location : withQuery(location, query, count)]);
    if (query.has('delay')) await sleep(Number(query.get('delay')));
    if (token !== null) {
      stash.set(token, count);
      if (query.has('max_count') && count > Number(query.get('max_count'))) return new Response(`${count - 1}`);
    }
    return new Response(null, { status: Number(query.get('redirect_status') ?? query.get('status') ?? 302), headers });
  },

  'redirect-empty-location.py': () => new Response(null, { status: 302, headers: { location: '' } }),

  'cache.py': request => {
    if (request.headers.get('if-none-match') === '"123abc"')
      return new Response(null, { status: 304, headers: { 'x-http-status': '304' } });
    return new Response('lorem ipsum dolor sit amet', { headers: { etag: '"123abc"', 'content-type': 'text/plain' } });
  },

  'parse-headers.py': (_request, query) => {
    const value = query.get('my-custom-header') ?? '';
    return { raw: Buffer.from(`HTTP/1.1 200 OK\r\nmy-custom-header: ${value}\r\ncontent-length: 0\r\n\r\n`, 'latin1') };
  },
};

function takeStash(key: string | null): unknown {
  const value = stash.get(key ?? '');
  stash.delete(key ?? '');
  return value;
}

/** The parameters go along, and the location changes in a loop of redirects. */
function withQuery(location: string, query: URLSearchParams, count: number): string {
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(location)?.[1]?.toLowerCase();
  if (scheme !== undefined && scheme !== 'http' && scheme !== 'https') return location;
  return `${location}${location.includes('?') ? '&' : '?'}${query}&count=${count}`;
}

function pieces(count: number, text: string, delayMs: number): ReadableStream<Uint8Array> {
  let sent = 0;
  return new ReadableStream({
    async pull(controller) {
      await sleep(delayMs);
      if (sent++ < count) controller.enqueue(new TextEncoder().encode(text));
      else controller.close();
    },
  });
}

/** A body whose last chunk is invalid. */
async function* badChunks(count: number, delayMs: number): AsyncGenerator<Uint8Array> {
  yield Buffer.from('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n');
  await sleep(delayMs);
  for (let sent = 0; sent < count; sent++) {
    yield Buffer.from('a\r\nTEST_CHUNK\r\n');
    await sleep(delayMs);
  }
  yield Buffer.from('garbage');
}

function decodePath(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
