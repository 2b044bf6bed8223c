import { attack, ended } from '../attack.js';

export default attack({
  tries: 'to fail with an error whose every getter is hostile',
  rules: ['R10'],
  modules: {
    'main.js': `
export default { fetch() { throw new Proxy(new Error('x'), { get() { throw new Error('touched'); }, getPrototypeOf() { throw new Error('touched'); }, getOwnPropertyDescriptor() { throw new Error('touched'); } }); } };
`,
  },
  holds: ended('EDGE_HANDLER_THREW'),
});
