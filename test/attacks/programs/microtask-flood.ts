import { attack, ended } from '../attack.js';

export default attack({
  tries: 'to starve the host with microtasks',
  rules: ['R20'],
  body: `
await new Promise(() => { const again = () => { queueMicrotask(again); Promise.resolve().then(again); }; again(); });
`,
  holds: ended('EDGE_CPU_LIMIT', 'EDGE_MEMORY_LIMIT'),
});
