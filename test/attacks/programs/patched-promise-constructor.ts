import { attack } from '../attack.js';

export default attack({
  tries: 'to replace the Promise constructor and its statics',
  rules: ['R9', 'R15'],
  top: `
globalThis.Promise = class extends Promise { constructor(executor) { super(executor); keep(this); keep(executor); } };
for (const key of ['resolve', 'reject', 'all', 'race', 'any', 'allSettled', 'withResolvers']) Promise[key] = function (...args) { args.forEach(keep); keep(this); };
`,
  body: `
await settle(() => fetch('https://x.test'));
await settle(() => request.text());
await settle(() => new Response(new ReadableStream({ pull(c) { c.enqueue(new Uint8Array(1)); c.close(); } })).text());
`,
});
