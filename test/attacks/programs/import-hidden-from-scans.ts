/** Slashes and braces that a scan of characters may read in another way than the engine (rule R12). */
import { attack } from '../attack.js';

export default attack({
  tries: 'to hide import() from a scan that is no parser',
  rules: ['R12', 'R13'],
  body: String.raw`
const a = 4, g = 2, of = 3, text = 'import("x")';
await settle(() => (function(){}/1, import('node:fs')));
await settle(() => a/2/g + import('node:fs'));
await settle(() => ({}/1/import('node:fs')));
await settle(() => of/'"'.length/import('node:fs')/"'");
await settle(() => (x => { return /[/]\/*/.test(x), import('node:fs') })(1));
await settle(() => { if (a) /"/.test(a); return import('node:fs'); });
await settle(() => { a: { } /"/.test(a); return import('node:fs'); });
await settle(() => { let b = a; b++ / '"'.length; return import('node:fs') / '"'.length; });
await settle(() => class { static x = import('node:fs') }.x);
await settle(() => import((0, import('node:vm').catch(keep), 'node:fs')));
await settle(() => (async (x = import('node:fs')) => x)());
attempt(() => { if (Object.getPrototypeOf(import.meta) !== Object.prototype) fail('a foreign object'); });
`,
});
