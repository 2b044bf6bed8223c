/** The function that uses a key-value namespace, and how it is called. */
import type { EdgeFunction } from '../../src/index.js';

/** `/put`, `/get`, `/many` and `/list` call the namespace `count` times, one after the other. */
export const KV_FUNCTION = `
const value = 'v'.repeat(1024);
const keyOf = serial => 'key-' + (serial % 1000);
const actions = {
  put: (kv, serial) => kv.put(keyOf(serial), value),
  get: (kv, serial) => kv.get(keyOf(serial)),
  many: (kv, serial) => kv.get(Array.from({ length: 100 }, (_, at) => keyOf(serial + at))),
  list: (kv, serial) => kv.list({ prefix: 'list/' + String(serial % 100).padStart(3, '0') + '/' }),
};

export default {
  async fetch(request, env) {
    const { pathname, searchParams } = new URL(request.url);
    const count = Number(searchParams.get('count'));
    const serial = Number(searchParams.get('serial'));
    for (let at = serial; at < serial + count; at++) await actions[pathname.slice(1)](env.KV, at);
    return new Response('done');
  },
};
`;

export type KvAction = 'put' | 'get' | 'many' | 'list';

/** Calls the function, which makes `count` calls to its namespace with keys from `serial` on. */
export async function callKv(fn: EdgeFunction, action: KvAction, count: number, serial: number): Promise<void> {
  const response = await fn.fetch(`https://example.com/${action}?count=${count}&serial=${serial}`);
  const text = await response.text();
  if (text !== 'done') throw new Error(`The function's ${action} answered ${response.status} ${text.slice(0, 200)}`);
}
