import { keyOf } from './lib/key';

interface Env {
  FILES: StoreBucket;
}

export default {
  async fetch(request, env) {
    const key = keyOf(request.url);
    if (request.method === 'PUT') {
      await env.FILES.put(key, request.body ?? '');
      return new Response('stored\n', { status: 201 });
    }
    const note = await env.FILES.get(key);
    return note !== null && 'body' in note ? new Response(note.body) : new Response('no such note\n', { status: 404 });
  },
} satisfies ExportedHandler<Env>;
