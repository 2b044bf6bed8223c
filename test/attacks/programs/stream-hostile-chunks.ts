import { attack, ended } from '../attack.js';

export default attack({
  tries: 'to answer with a stream of everything but bytes',
  rules: ['R18'],
  modules: {
    'main.js': `
export default { fetch() { const chunks = [{}, 'text', 1, null, Symbol('x'), new Proxy(new Uint8Array(4), {}), new Uint16Array(4), Object.create(Uint8Array.prototype)]; return new Response(new ReadableStream({ pull(c) { c.enqueue(chunks.pop()); if (chunks.length === 0) c.close(); } })); } };
`,
  },
  holds: ended('EDGE_RESPONSE_STREAM'),
});
