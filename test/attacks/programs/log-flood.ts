import { attack } from '../attack.js';

export default attack({
  tries: 'to flood the log',
  rules: ['R17'],
  body: `
for (let i = 0; i < 20000; i++) console.log('x'.repeat(200));
`,
});
