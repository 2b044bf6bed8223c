/** What functions do with a bucket, called by path: the same in every row. */

export const VALUE_BYTES = 1024;
export const KEYS = 1000;

/**
 * `/none` uses no service, `/one` calls the bucket once. `/get` and `/put` make `count` calls, one after the other, from `serial` on. `/upload`
 * and `/download` pass a body on. `/computes` computes for about half a millisecond.
 */
export const STORING_FUNCTION = `
const value = 'v'.repeat(${VALUE_BYTES});
const actions = {
  put: (bucket, key) => bucket.put(key, value),
  get: async (bucket, key) => (await bucket.get(key)).text(),
};

export default {
  async fetch(request, env) {
    const { pathname, searchParams } = new URL(request.url);
    const name = pathname.slice(1);
    if (name === 'none') return new Response('done');
    if (name === 'one') {
      await env.FILES.head('key-1');
      return new Response('done');
    }
    if (name === 'computes') {
      let sum = 0;
      for (let at = 0; at < 200_000; at++) sum = (sum * 31 + at) % 1000003;
      return new Response(sum < 0 ? 'wrong' : 'done');
    }
    if (name === 'reads') {
      for (let at = 0; at < 4; at++) await (await env.FILES.get('key-' + at)).text();
      return new Response('done');
    }
    if (name === 'upload') {
      await env.FILES.put('large', request.body);
      return new Response('done');
    }
    if (name === 'download') return new Response((await env.FILES.get('large')).body);
    const first = Number(searchParams.get('serial'));
    const end = first + Number(searchParams.get('count'));
    for (let at = first; at < end; at++) await actions[name](env.FILES, 'key-' + (at % ${KEYS}));
    return new Response('done');
  },
};
`;
