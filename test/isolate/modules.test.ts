import vm from 'node:vm';
import test from 'ava';
import { mayImport } from '../../src/isolate/imports/import-scan.js';

function compiles(source: string): boolean {
  try {
    new vm.Script(source, { importModuleDynamically: () => Promise.reject(new Error('never run')) });
    return true;
  } catch {
    return false;
  }
}

test('mayImport() sees every import() that the engine takes, whatever one character is before its parenthesis', t => {
  const missed: string[] = [];
  for (let code = 0; code <= 0xffff; code++) {
    const character = String.fromCharCode(code);
    // It makes another name of the keyword.
    if (/\$|\u200c|\u200d|\p{ID_Continue}/u.test(character)) continue;
    const source = `x => import${character}("y")`;
    if (!mayImport(source) && compiles(source)) missed.push(code.toString(16));
  }
  t.deepEqual(missed, []);
});

for (const [name, source] of [
  ['a comment', 'import/**/("y")'],
  ['a comment of a line', 'import//\n("y")'],
  ['a comment of a page', 'import<!-- x\n("y")'],
  ['the end of one', 'import\n--> x\n("y")'],
  ['a comment with a separator of lines', 'import/*\u2028*/("y")'],
  ['a phase', 'import.source("y")'],
  ['another phase', 'import . defer("y")'],
  ['a template', '`$' + '{import("y")}`'],
  ['a division', 'a = 1 / import("y") / 2'],
  ['a hashbang', '#!x\nimport("y")'],
] as const) {
  test(`mayImport() sees import() with ${name}`, t => t.true(mayImport(source)));
}

for (const keyword of ['im\\u0070ort', '\\u0069mport', 'im\\u{70}ort']) {
  test(`the engine does not take ${keyword} for the keyword`, t => t.false(compiles(`x => ${keyword}("y")`)));
}
