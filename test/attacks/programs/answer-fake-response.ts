import { attack, ended } from '../attack.js';

export default attack({
  tries: 'to answer with an object that only inherits from Response',
  rules: ['R9', 'R10'],
  modules: {
    'main.js': `
export default { fetch() { return Object.create(Response.prototype, { status: { get() { throw new Error('read'); } } }); } };
`,
  },
  holds: ended('EDGE_NO_RESPONSE', 'EDGE_HANDLER_THREW'),
});
