/** es-module-lexer does not see these; acorn must (rule R12). */
import { attack } from '../attack.js';

export default attack({
  tries: 'to hide import() from parsers',
  rules: ['R12'],
  body: String.raw`
const a = 4, g = 2;
await settle(() => import/* comment */('node:fs'));
await settle(() => import
('node:fs'));
await settle(() => (function(){}/1, import('node:fs')));
await settle(() => [...[1]].map(() => import('node:fs'))[0]);
await settle(() => a/2/g + import('node:fs'));
await settle(() => (x => { return /[/]\/*/.test(x), import('node:fs') })(1));
await settle(() => class { static x = import('node:fs') }.x);
await settle(async () => { for await (const x of [import('node:fs')]) keep(x); });
await settle(() => import((0, import('node:vm').catch(keep), 'node:fs')));
await settle(() => (async (x = import('node:fs')) => x)());
`,
});
