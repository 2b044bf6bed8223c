import { page } from './lib/page.js';

const PREFIX = '/plugins/acme/pictures/';

export default {
  async fetch(request, env) {
    const { pathname } = new URL(request.url);
    if (!pathname.startsWith(PREFIX)) {
      const { objects } = await env.PICTURES.list();
      return new Response(page(env.TITLE, objects), { headers: { 'Content-Type': 'text/html; charset=utf-8' } });
    }
    const key = decodeURIComponent(pathname.slice(PREFIX.length));

    if (request.method === 'PUT') {
      const stored = await env.PICTURES.put(key, request.body, {
        httpMetadata: { contentType: request.headers.get('Content-Type') ?? 'application/octet-stream' },
      });
      return Response.json({ key, size: stored.size, etag: stored.etag }, { status: 201 });
    }

    const object = await env.PICTURES.get(key);
    if (object === null) return new Response('No such picture\n', { status: 404 });
    const headers = new Headers({ ETag: object.httpEtag });
    object.writeHttpMetadata(headers);
    return new Response(object.body, { headers });
  },
};
