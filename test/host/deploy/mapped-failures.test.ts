/** Errors of loading name the place in the author's file where the deployment has a source map. */
import test from 'ava';
import { newHost } from '../new-host.js';

/** Each line of out.js is that of src/a.ts ten lines further down. */
const MAP = JSON.stringify({ version: 3, sources: ['../src/a.ts'], mappings: 'AAUA;AACA;AACA' });
const END = '\n//# sourceMappingURL=out.js.map';

for (const [what, code, text] of [
  ['an import of a module that is not there', 'EDGE_SCRIPT_IMPORT', '\nimport x from "./nope.js";'],
  ['an import of a name that is not exported', 'EDGE_SCRIPT_IMPORT', '\nimport { x } from "./b.js";'],
  ['an import behind import()', 'EDGE_SCRIPT_IMPORT', '\nconst f = () => import("./b.js"); import x from "./nope.js";'],
  ['a syntax error', 'EDGE_SCRIPT_SYNTAX', '\nexport default {{;'],
  ['a syntax error behind import()', 'EDGE_SCRIPT_SYNTAX', '\nconst f = () => import("./b.js"); export default {{;'],
] as const) {
  test(`load() rejects with ${code} for ${what} at its place in the author's file`, async t => {
    const modules = { 'dist/out.js': text + END, 'dist/out.js.map': MAP, 'dist/b.js': 'export const y = 1' };
    const error = await t.throwsAsync(newHost(t).load({ main: 'dist/out.js', modules }, { name: 'f' }), { code });
    t.like(error, { location: { file: 'src/a.ts', line: 12 } });
    t.regex(error.message, /\(src\/a\.ts:12:1\)$/);
  });
}

test("load() rejects with EDGE_SCRIPT_SYNTAX for import() in a classic script at its place in the author's file", async t => {
  const source = { type: 'script', source: `\nconst f = () => import("./b.js");${END}` } as const;
  const modules = { 'dist/out.js': source, 'dist/out.js.map': MAP };
  const loading = newHost(t).load({ main: 'dist/out.js', modules }, { name: 'f' });
  t.like(await t.throwsAsync(loading, { code: 'EDGE_SCRIPT_SYNTAX' }), { location: { file: 'src/a.ts', line: 12 } });
});
