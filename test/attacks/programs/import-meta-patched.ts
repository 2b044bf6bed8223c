import { attack } from '../attack.js';

export default attack({
  tries: 'to patch what import.meta is made of',
  rules: ['R13'],
  body: `
const seen = [];
Object.defineProperty(Object.prototype, 'url', { set(value) { keep(this); keep(value); }, get() { keep(this); }, configurable: true });
keep(import.meta);
keep(import.meta.url);
delete Object.prototype.url;
`,
});
