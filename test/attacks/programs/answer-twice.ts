import { attack } from '../attack.js';

export default attack({
  tries: 'to answer again and again',
  rules: ['R25'],
  body: `
attempt(() => ctx.passThroughOnException()); attempt(() => ctx.passThroughOnException());
const response = new Response('x');
for (let i = 0; i < 3; i++) await settle(() => response.text());
await settle(() => response.clone().text());
for (let i = 0; i < 100; i++) ctx.waitUntil(Promise.resolve(i));
`,
});
