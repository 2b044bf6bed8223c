/** The engine throws errors of the host realm when a host function is entered without stack left (rule R5). */
import { attack } from '../attack.js';

export default attack({
  tries: 'to catch an error of the bridge at the edge of the stack',
  rules: ['R5'],
  body: `
const calls = [
  () => new URL('https://x.test'), () => crypto.randomUUID(), () => new TextEncoder().encode('é'.repeat(99)),
  () => btoa('x'), () => console.log('x'), () => performance.now(), () => setTimeout(() => {}, 1), () => new Headers({ a: 'b' }),
  () => new Response('x').text(), () => structuredClone([{}]), () => fetch('https://x.test').catch(keep),
];
for (const call of calls) atTheEdge(call, 20);
`,
});
