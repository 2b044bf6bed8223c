import test from 'ava';
import { mayImport, scanImports } from '../../../src/isolate/imports/import-scan.js';

function usesOf(source: string): string | undefined {
  const scan = scanImports(source);
  for (;;) {
    const { done, value } = scan.next();
    if (done === true) return value;
  }
}

const QUOTE = '\u0060';

for (const [what, source, uses] of [
  ['calls', 'await import("a"); x => import ("b")', 'cc'],
  ['calls in calls', 'import(import("a"), { with: {} })', 'cc'],
  ['import.meta', 'f(import.meta.url, import . meta)', 'mm'],
  ['strings', `"import('a')" + 'import("a") \\' import.meta'`, 'ttt'],
  ['comments', '/* import(x) */ // import(y)\nf()', 'tt'],
  ['templates', `${QUOTE}import(a) \${import(b)} import(c) \${${QUOTE}import(d)${QUOTE}} import(e)${QUOTE}`, 'tcttt'],
  ['names', 'a.import(x); a?.import(x); this.#import(x); reimport(x); $import(x)', 'ttttt'],
  ['a spread', 'f(...import("x"))', 'c'],
  ['a division behind a value', 'a / import("x") / 2; b[0] / import("x") / 2; f() / import("x") / 2', 'ccc'],
  ['a division behind a number', '1. / import("x") / 2; 1 / import("x") / 2', 'cc'],
  ['a division behind an object', 'x = { a } / import("x") / 2', 'c'],
  ['a division behind a template', `x = ${QUOTE}a\${b}${QUOTE} / import("x") / 2`, 'c'],
  ['a division behind an increment', 'a++ / import("x") / 2', 'c'],
  ['expressions with quotes', `if (x) /["']/.test(import("x")); return /'/, import("x")`, 'cc'],
  ['an expression with a slash in a class', '(/[/"]/, import("x"))', 'c'],
  ['an expression behind a block', '{ a } /"/.test(x); import("x")', 'c'],
  ['an expression behind an arrow', 'x => /"/.test(import("x"))', 'c'],
  ['a word that is a property', `a.return / import("x") / '"'.length`, 'c'],
  ['a hashbang', '#! import(x) "\nimport("y")', 'tc'],
] as const) {
  test(`scanImports() tells ${what}`, t => t.is(usesOf(source), uses));
}

for (const [what, source] of [
  ['a regular expression', 'x = /import(x)/'],
  ['a template with a tag', `css${QUOTE}@import(x)${QUOTE}`],
  ['the end of a template with a tag', `css${QUOTE}\${x} import(x)${QUOTE}`],
  ['a comment behind the keyword', 'import/* x */("y")'],
  ['a phase', 'import.source("y")'],
  ['a static import with a comment', 'import/* x */y from "y"'],
] as const) {
  test(`scanImports() leaves ${what} to the parser`, t => {
    t.true(mayImport(source));
    t.is(usesOf(source), undefined);
  });
}

test('scanImports() leaves a text to the parser that has more of them than any bundle', t => {
  t.is(usesOf('import(x);'.repeat(50_000))?.length, 50_000);
  t.is(usesOf('import(x);'.repeat(50_001)), undefined);
});

test('scanImports() pauses in a long text', t => {
  const scan = scanImports(`${'f(x);'.repeat(200_000)}import(x)`);
  let pauses = 0;
  let next = scan.next();
  for (; next.done !== true; next = scan.next()) pauses++;
  t.is(pauses, 3);
  t.is(next.value, 'c');
});

for (const [what, source] of [
  ['a string', '"import(x)'],
  ['a template', `${QUOTE}import(x)`],
  ['a part of a template', `${QUOTE}\${import(x)`],
  ['a comment', '/* import(x)'],
  ['an expression', '= /import(x)'],
  ['a class of an expression', '= /[import(x)'],
  ['nothing', 'import('],
  ['a bracket that is not open', '}}])) import(x)'],
] as const) {
  test(`scanImports() ends at the end of a text with ${what} that has no end`, t => {
    t.notThrows(() => usesOf(source));
  });
}
