/** What the host awaits would call this with functions of the host realm (rule R9). */
import { attack } from '../attack.js';

export default attack({
  tries: 'to patch Promise.prototype.then',
  rules: ['R9'],
  top: `
const native = Promise.prototype.then;
for (const key of ['then', 'catch', 'finally', 'constructor']) {
  try { Promise.prototype[key] = function (...args) { args.forEach(keep); return native.apply(this, args); }; } catch (error) { keep(error); }
  try { Object.defineProperty(Promise.prototype, key, { get() { keep(this); return function (...args) { args.forEach(keep); return native.apply(this, args); }; } }); } catch (error) { keep(error); }
}
await null;
await new Promise(resolve => resolve(1));
`,
  body: `
await settle(() => fetch('https://x.test'));
await settle(() => request.text());
await settle(() => crypto.subtle.digest('SHA-1', new Uint8Array(8)));
await settle(() => import('./probe.js'));
`,
});
