import { attack, ended } from '../attack.js';

export default attack({
  tries: 'to answer with a Proxy of a Response',
  rules: ['R9', 'R10'],
  modules: {
    'main.js': `
export default { async fetch() { return new Proxy(new Response('x'), { get(target, key) { throw new Error(String(key)); }, getPrototypeOf() { throw new Error('p'); } }); } };
`,
  },
  holds: ended('EDGE_NO_RESPONSE', 'EDGE_HANDLER_THREW'),
});
