/** The rewriting by a scan, held against V8 and against the parser. */
import vm from 'node:vm';
import test from 'ava';
import fc from 'fast-check';
import { mayImport, scanImports } from '../../../src/isolate/imports/import-scan.js';
import {
  type ModuleText,
  type RewrittenText,
  rewriteImports,
  withoutImports,
} from '../../../src/isolate/imports/rewrite-imports.js';
import { importsIn } from '../../../src/isolate/parser.js';

const LOADER = 'edgehost:loader/x';
const QUOTE = '\u0060';

function usesOf(source: string): string | undefined {
  const scan = scanImports(source);
  for (;;) {
    const { done, value } = scan.next();
    if (done === true) return value;
  }
}

function compiles(source: string): boolean {
  try {
    new vm.SourceTextModule(source, { importModuleDynamically: () => Promise.reject(new Error('never run')) });
    return true;
  } catch {
    return false;
  }
}

/** The text by the guess; undefined when there is none, or it does not compile. */
function guessOf(source: string, uses = usesOf(source)): RewrittenText | undefined {
  if (uses === undefined) return undefined;
  const first = firstOf({ source, name: 'a.js', loader: LOADER, uses });
  return first !== undefined &&
    first.source.includes('/*#') === /[cm]/.test(uses) &&
    compiles(first.prefix + first.source)
    ? first
    : undefined;
}

/** Undefined where a guess would leave what looks like import(), and the parser, which comes next, does not know the syntax. */
function firstOf(module: ModuleText): RewrittenText | undefined {
  try {
    const [first] = rewriteImports(module);
    return first;
  } catch {
    return undefined;
  }
}

/** The result of the parser in the form of a scan; undefined for syntax that the parser refuses and V8 accepts, such as `f()++`. */
function parsedUses(source: string): string | undefined {
  try {
    const found = importsIn(source, 'module').sort((a, b) => a.start - b.start);
    return found.map(({ isCall }) => (isCall ? 'c' : 'm')).join('');
  } catch {
    return undefined;
  }
}

test('rewriteImports() replaces keywords alone, and spells what is text in another way', t => {
  const source = `const a = 'import("x")', b = import("y"), c = import.meta.url; // import.meta`;
  const rewritten = guessOf(source);
  t.is(
    rewritten?.source,
    `const a = 'im\\u0070ort("x")', b = $edgehost_import$("a.js")/*#'#"# \${#*/("y"), c = ({ url: "file:///a.js" })/*#'#"# \${#*/.url; // im\\u0070ort.meta`,
  );
  t.is(rewritten?.prefix, `import { dynamicImport as $edgehost_import$ } from "${LOADER}";`);
});

test('rewriteImports() needs no parser where the guess is right, and has the parser for where it is not', t => {
  const source = 'x => import("y")';
  t.is([...rewriteImports({ source, name: 'a.js', loader: LOADER, uses: 'c' })].length, 2);
  t.is([...rewriteImports({ source, name: 'a.js', loader: LOADER, uses: undefined })].length, 1);
  t.is([...rewriteImports({ source: 'x', name: 'a.js', loader: LOADER, uses: undefined })].length, 1);
});

for (const [what, source, uses] of [
  ['a keyword for text', 'x => import("y")', 't'],
  ['import.meta for text', 'x => import.meta', 't'],
  ['a string for a keyword', `x = 'import("y")'`, 'c'],
  ['a string of double quotes for a keyword', 'x = "import(y)"', 'c'],
  ['a template for a keyword', `x = ${QUOTE}import("y")${QUOTE}`, 'c'],
  ['a regular expression for a keyword', 'x = /import("y")/', 'c'],
  ['a string for import.meta', `x = 'import.meta'`, 'm'],
  ['a method for a keyword', 'x = { import(y) {} }', 'c'],
] as const) {
  test(`a guess does not compile when it takes ${what}`, t => {
    t.true(compiles(source));
    t.is(guessOf(source, uses), undefined);
    const [, byParser] = rewriteImports({ source, name: 'a.js', loader: LOADER, uses });
    t.true(byParser !== undefined && compiles(byParser.prefix + byParser.source));
  });
}

for (const uses of ['', 'cc', 'ccc', 'm', 'x']) {
  test(`no guess of ${uses || 'nothing'} leaves an import() in the text`, t => {
    for (const { source } of rewriteImports({ source: 'x => import("y")', name: 'a.js', loader: LOADER, uses })) {
      t.false(mayImport(source));
    }
  });
}

test('a module whose own name looks like import() is left to the parser', t => {
  const texts = [...rewriteImports({ source: 'import("x")', name: 'import(.js', loader: LOADER, uses: 'c' })];
  t.is(texts.length, 1);
});

test('withoutImports() respells what is no keyword in a classic script, and leaves all else to the parser', t => {
  t.is(withoutImports('f("import(x)")', 't')?.source, 'f("im\\u0070ort(x)")');
  t.is(withoutImports('f(x)', undefined)?.source, 'f(x)');
  t.is(withoutImports('f(import(x))', 'c'), undefined);
  t.is(withoutImports('f(import(x))', undefined), undefined);
});

const PARTS = [
  'import("x")',
  'import (y)',
  'import.meta',
  'import',
  '.import(z)',
  'a',
  ' a ',
  '1',
  '1.',
  'return ',
  'if(a)',
  'x=>',
  '=',
  ';',
  ',',
  '\n',
  '(',
  ')',
  '{',
  '}',
  '[',
  ']',
  '/',
  '/',
  '//',
  '/*',
  '*/',
  '"',
  "'",
  QUOTE,
  QUOTE,
  '${',
  '\\',
  '++',
  '-',
  '...',
  '?',
  ':',
  'async ',
  'await ',
  'class A',
  'get ',
  'function(){}',
  'typeof ',
  '#',
  '<!--',
  '-->',
  '\u2028',
  '\ufeff',
  '$',
  'String.raw',
  'export default ',
  '\\u0070',
];

test('whatever a text is, a guess leaves no import() in it, and where it compiles the parser says the same', t => {
  let compiled = 0;
  const parts = fc.array(fc.constantFrom(...PARTS), { minLength: 1, maxLength: 12 });
  fc.assert(
    fc.property(parts, fc.nat(), (texts, at) => {
      const source = texts.toSpliced(at % texts.length, 0, 'import("x")').join('');
      const uses = usesOf(source);
      const rewritten = guessOf(source, uses);
      if (uses === undefined || rewritten === undefined) return true;
      compiled++;
      // Some texts compile only as rewritten: V8 lets a call stand where something is assigned to, and import() never.
      if (mayImport(rewritten.source)) return false;
      if (!compiles(source)) return true;
      const parsed = parsedUses(source);
      return parsed === undefined || (parsed === uses.replaceAll('t', '') && parsedUses(rewritten.source) === '');
    }),
    { numRuns: 3000 },
  );
  t.true(compiled > 20, `${compiled} texts compiled`);
});
