import { attack } from '../attack.js';

export default attack({
  tries: 'to reach the host through import.meta',
  rules: ['R13'],
  body: String.raw`
keep(import.meta);
keep(import.meta.url);
attempt(() => import.meta.resolve('node:fs'));
attempt(() => import.meta.dirname);
keep(Object.getOwnPropertyNames(import.meta));
atTheEdge(() => import.meta, 20);
keep(typeof import.meta.url === 'string' && /\/(home|root|work|tmp|usr)\//.test(import.meta.url) ? Object.create({ leak: Object.create(null) }) : 1);
`,
});
