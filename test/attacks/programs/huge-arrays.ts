/** The system gives no page of them before it is written to, but it is the function's memory all the same. */
import { attack, ended } from '../attack.js';

export default attack({
  tries: 'to hold an array of gigabytes that it never writes to',
  rules: ['R20'],
  isProcessOnly: true,
  body: `
globalThis.held = [];
for (const n of [2 ** 31, 2 ** 31, 2 ** 31]) attempt(() => held.push(new Uint8Array(n)));
await scheduler.wait(20000);
`,
  holds: ended('EDGE_MEMORY_LIMIT'),
});
