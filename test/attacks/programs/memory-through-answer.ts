import { attack } from '../attack.js';

export default attack({
  tries: "to fill the host's memory with an answer that nobody reads",
  rules: ['R25'],
  body: `
const pending = new Response(new ReadableStream({ pull(c) { c.enqueue(new Uint8Array(1 << 16)); } }));
const reader = pending.body.getReader();
for (let i = 0; i < 50; i++) await reader.read();
await settle(() => reader.cancel());
`,
});
