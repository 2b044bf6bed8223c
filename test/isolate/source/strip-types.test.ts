import vm from 'node:vm';
import test from 'ava';
import { SourceMistake } from '../../../src/isolate/source/source-mistake.js';
import { stripTypes } from '../../../src/isolate/source/strip-types.js';

const strips = test.macro({
  exec(t, source: string, expected: string) {
    const text = stripTypes(source);
    t.is(text, expected);
    t.notThrows(() => new vm.SourceTextModule(text));
  },
  title: (_, source) => `stripTypes() keeps the places of ${JSON.stringify(source)}`,
});

test(strips, 'const a: number = 1;', 'const a         = 1;');
test(strips, 'let a!: A<B<C>>= 1;', 'let a          = 1;');
test(strips, 'f<T>(a as B, c!, d satisfies E);', 'f   (a     , c , d            );');
test(strips, 'const a = <const>["b"];', 'const a =        ["b"];');
test(
  strips,
  'function f<const T>(this: A, b?: T, ...c: D[]): b is T {}',
  'function f         (         b    , ...c     )         {}',
);
test(strips, 'try {} catch (e: unknown) {}', 'try {} catch (e         ) {}');
test(strips, 'for (const a of b as C[]) {}', 'for (const a of b       ) {}');
test(strips, 'import a, { type B, c } from "d";', 'import a, {         c } from "d";');
test(strips, 'import type A from "b";', ';                      ');
test(strips, 'export { type A, b }; const b = 1; type A = 1', 'export {         b }; const b = 1; ;         ');
test(strips, 'export interface A { b: string }', ';                               ');
test(strips, 'declare const a: number;', ';                       ');
test(strips, 'function f(): void; function f(a?) {}', ';                   function f(a ) {}');
test(
  strips,
  'abstract class A<T> extends B<T> implements C, D<E> {}',
  '         class A    extends B                       {}',
);
test(
  strips,
  'abstract class A { private static readonly a?: B = 1; declare c: D; abstract e(): F; [g: string]: H; async i?<T>() {} }',
  '         class A {         static          a     = 1; ;             ;                ;               async i    () {} }',
);
test(strips, 'const type = 1, as = type, satisfies = as;', 'const type = 1, as = type, satisfies = as;');
// The types of a text may have characters of two units, and line breaks of their own.
test(strips, 'let a: "😀" = /b/ as C;', 'let a       = /b/     ;');
test(strips, 'let a: {\r\n  b: 1\u2028}\n= c;', 'let a   \r\n      \u2028 \n= c;');

// A line must not continue the one before because a type between them is gone.
test(strips, 'a = b as C\n(d)', 'a = b;    \n(d)');
test(strips, 'if (a) b as C\n(d)', 'if (a) b;    \n(d)');
test(strips, 'const a = 1\ninterface B {}\n(c)', 'const a = 1\n;             \n(c)');
test(strips, 'class A { b: C\n["d"] = 1 }', 'class A { b;  \n["d"] = 1 }');
test(strips, 'class A { b = 1\npublic ["c"] = 2 }', 'class A { b = 1\n;      ["c"] = 2 }');
// A line must not end before `=>`.
test(strips, 'const f = (a: A): {\n  b: C\n} => a', 'const f = (a       \n      \n) => a');
test(strips, 'const f = (a)\n: B => a', 'const f = (a \n  ) => a');
test(strips, 'const f = async <\n  T,\n>(a: T) => a', 'const f = async (\n    \n  a   ) => a');

// The plugin of acorn has these wrong.
test(
  strips,
  'const f = async () => { await a; return async <T>(b: T) => b; };',
  'const f = async () => { await a; return async    (b   ) => b; };',
);
test(strips, 'interface A { b<const T>(): T }', ';                              ');
test(strips, 'let a: B = b ? (c) : d => e;', 'let a    = b ? (c) : d => e;');
test(strips, 'let a: B = b ? (c) => (d) : e => f;', 'let a    = b ? (c) => (d) : e => f;');
test(strips, 'let a = b ? (c): D => c : (e): F => e;', 'let a = b ? (c)    => c : (e)    => e;');

const refuses = test.macro({
  exec(t, source: string, pos: number, message: RegExp) {
    // AVA's throws() takes errors alone.
    try {
      stripTypes(source);
    } catch (error) {
      t.true(error instanceof SourceMistake);
      t.like(error, { pos });
      t.regex(String(Reflect.get(Object(error), 'message')), message);
      return;
    }
    t.fail();
  },
  title: (_, source) => `stripTypes() refuses ${JSON.stringify(source)}, which is more than types`,
});

test(refuses, 'const a = 1; enum B { c }', 13, /^An enum/);
test(refuses, 'namespace A { const b = 1 }', 0, /^A namespace/);
test(refuses, 'class A { constructor(private b: C) {} }', 22, /^A parameter property/);
test(refuses, 'import a = require("a")', 0, /^"import ="/);
test(refuses, 'export = a', 0, /^"export ="/);
test(refuses, '@a class B {}', 0, /^A decorator/);
test(refuses, 'return <A>\nb', 7, /^A type assertion/);
test(refuses, '() => <A>{ b: 1 }', 6, /^A type assertion/);
