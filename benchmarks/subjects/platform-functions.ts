/** Two functions that use the services of the platform, in the words of the hosted one: other runtimes run the same text. */

const CALLS = { put: 50, get: 50, match: 50, fetch: 20, call: 20 } as const;

export type PlatformAction = keyof typeof CALLS;

/** The path of a request that makes `count` calls of the action. */
export function platformRequest(
  action: PlatformAction,
  serial: number,
): { readonly url: string; readonly count: number } {
  const count = CALLS[action];
  return { url: `https://example.com/${action}?count=${count}&serial=${serial}`, count };
}

/** Calls KV (a key-value namespace), `caches.default` and B (the other function). */
export const PLATFORM_FUNCTION = `
const value = 'v'.repeat(1024);
const urlOf = serial => 'https://example.com/' + (serial % 1000);
const actions = {
  put: (env, serial) => env.KV.put('key-' + (serial % 1000), value),
  get: (env, serial) => env.KV.get('key-' + (serial % 1000)),
  keep: (env, serial) => caches.default.put(urlOf(serial), new Response(value, { headers: { 'cache-control': 'max-age=3600' } })),
  match: async (env, serial) => (await caches.default.match(urlOf(serial))).text(),
  fetch: async env => (await env.B.fetch('https://b/')).text(),
  call: env => env.B.hello('you'),
};
export default {
  async fetch(request, env) {
    const { pathname, searchParams } = new URL(request.url);
    const serial = Number(searchParams.get('serial'));
    for (let at = serial; at < serial + Number(searchParams.get('count')); at++) await actions[pathname.slice(1)](env, at);
    return new Response('done');
  },
};
`;

export const CALLED_FUNCTION = `
import { WorkerEntrypoint } from 'cloudflare:workers';
export default class extends WorkerEntrypoint {
  fetch() { return new Response('Hello'); }
  hello(name) { return 'Hello ' + name; }
}
`;
