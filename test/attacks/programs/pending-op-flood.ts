import { attack } from '../attack.js';

export default attack({
  tries: 'to start more operations than may be under way',
  rules: ['R17'],
  body: `
const all = [];
for (let i = 0; i < 6000; i++) all.push(crypto.subtle.digest('SHA-256', new Uint8Array(1)).then(() => 0, error => { if (all.length === 6000) keep(error); return 1; }));
await Promise.all(all);
`,
});
