/**
 * An unhandled rejection passes through the host realm. If the host looked at the reason, it would call function code (rule R10); if it did
 * not listen, Node would create an error of its own for it (rule R11).
 */
import { attack } from '../attack.js';

export default attack({
  tries: 'to be looked at by the host when it rejects',
  rules: ['R10', 'R11'],
  body: `
const touched = [];
const spy = name => new Proxy(() => {}, Object.fromEntries(['get', 'has', 'ownKeys', 'getPrototypeOf', 'getOwnPropertyDescriptor', 'apply'].map(trap => [trap, () => { touched.push(name + ' ' + trap); throw 1; }])));
const reasons = [spy('a proxy'), { get stack() { touched.push('stack'); }, toString() { touched.push('toString'); return ''; }, [Symbol.toPrimitive]() { touched.push('toPrimitive'); return ''; } }];
const told = [];
globalThis.addEventListener('unhandledrejection', event => { event.preventDefault(); told.push(event.reason); keep(event); });
for (const reason of reasons) Promise.reject(reason);
await scheduler.wait(5);
if (touched.length > 0) fail(touched.join());
if (told.length !== 2 || told[0] !== reasons[0] || told[1] !== reasons[1]) fail('told of ' + told.length);
`,
});
