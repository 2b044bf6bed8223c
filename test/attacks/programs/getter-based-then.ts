import { attack } from '../attack.js';

export default attack({
  tries: 'objects whose then is a getter that changes its mind',
  rules: ['R9'],
  body: `
let turn = 0;
const value = { get then() { turn++; keep(this); if (turn % 2) return undefined; return (a, b) => { keep(a); keep(b); a(value); }; } };
for (let i = 0; i < 5; i++) await settle(async () => { await value; return 1; });
await settle(() => new ReadableStream({ start: () => value, pull: () => value }).getReader().read());
ctx.waitUntil(value);
`,
});
