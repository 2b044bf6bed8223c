import { attack } from '../attack.js';

export default attack({
  tries: 'to make more outgoing requests than it may',
  rules: ['R17', 'R28'],
  body: `
const all = [];
for (let i = 0; i < 3000; i++) all.push(fetch('http://127.0.0.1:1/' + i).then(() => 0, error => { if (i % 500 === 0) keep(error); return 1; }));
await Promise.allSettled(all);
`,
});
