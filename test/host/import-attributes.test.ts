/** The import attribute `type`: what modules of each kind are with it, and imports that it does not fit. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import type { EdgeFunction, EdgeHost } from '../../src/index.js';
import { ISOLATIONS, newHost, textOf } from './new-host.js';

const BYTES = new Uint8Array([1, 2, 250]);

function load(host: EdgeHost, main: string): Promise<EdgeFunction> {
  return host.load({
    main: 'main.js',
    modules: {
      'main.js': main,
      'a.js': 'export default 1;',
      'd.bin': BYTES,
      'd.txt': 'text',
      'd.json': '{"a":1}',
      'broken.js': 'var a b;',
      'missing.js': "import './gone.js';",
      'unnamed.js': "import { gone } from './a.js';",
    },
  });
}

for (const isolation of ISOLATIONS) {
  test(`an import with type 'bytes' is a Uint8Array, and without it an ArrayBuffer (${isolation})`, async t => {
    const fn = await load(
      newHost(t, { isolation }),
      `import array from './d.bin' with { type: 'bytes' };
      globalThis.Uint8Array = class {};
      export default { async fetch() {
        const { default: buffer } = await import('./d.bin');
        const { default: later } = await import('./d.bin', { with: { type: 'bytes' } });
        const kinds = [array, buffer, later].map(value => Object.prototype.toString.call(value));
        return Response.json([kinds, [...array], array === later, array.buffer === buffer]);
      } };`,
    );
    t.deepEqual(JSON.parse(await textOf(fn.fetch('http://x/'))), [
      ['[object Uint8Array]', '[object ArrayBuffer]', '[object Uint8Array]'],
      [...BYTES],
      true,
      false,
    ]);
  });

  test(`import() rejects with a TypeError when its attributes do not fit the module (${isolation})`, async t => {
    const fn = await load(
      newHost(t, { isolation }),
      `const tries = [
        ['./d.bin', { with: { type: 'json' } }], ['./a.js', { with: { type: 'bytes' } }], ['./d.txt', { with: { type: 'css' } }],
        ['./d.txt', { with: { lazy: 'yes' } }], ['./d.txt', { with: { type: 1 } }], ['./d.txt', { with: 1 }], ['./d.txt', 1],
      ];
      export default { async fetch() {
        const seen = [];
        for (const [name, options] of tries) await import(name, options).then(() => seen.push('loaded'), e => seen.push(String(e)));
        return Response.json(seen);
      } };`,
    );
    t.deepEqual(JSON.parse(await textOf(fn.fetch('http://x/'))), [
      `TypeError: import("./d.bin"): it is imported with type 'json', but it is a module of kind "data", whose type is 'bytes'`,
      `TypeError: import("./a.js"): it is imported with type 'bytes', but it is JavaScript: leave the type out`,
      `TypeError: import("./d.txt"): it is imported with type 'css', which is none of 'json', 'text', 'bytes'`,
      'TypeError: There is no import attribute "lazy", only "type"',
      'TypeError: The import attribute "type" is not a string',
      'TypeError: The option "with" of a dynamic import is not an object',
      'TypeError: The options of a dynamic import are not an object',
    ]);
  });

  test(`import() of a module that does not link rejects with an error that names the place (${isolation})`, async t => {
    const fn = await load(
      newHost(t, { isolation }),
      `export default { async fetch() {
        const seen = [];
        for (const name of ['broken', 'missing', 'unnamed']) {
          await import('./' + name + '.js').catch(e => seen.push([e instanceof SyntaxError || e instanceof TypeError, e.message]));
        }
        return Response.json(seen);
      } };`,
    );
    const seen: [boolean, string][] = JSON.parse(await textOf(fn.fetch('http://x/')));
    t.deepEqual(
      seen.map(([isOwn]) => isOwn),
      [true, true, true],
    );
    t.regex(seen[0]?.[1] ?? '', /\(broken\.js:1:7\)$/);
    t.regex(seen[1]?.[1] ?? '', /^"missing\.js" imports "\.\/gone\.js", .* \(missing\.js:1:8\)$/);
    t.regex(seen[2]?.[1] ?? '', /named 'gone' \(unnamed\.js:1:22\)$/);
  });
}

test('imports with types json and text are the values that these modules have without them', async t => {
  const fn = await load(
    newHost(t),
    `import json from './d.json' with { type: 'json' };
    import plain from './d.json';
    import text from './d.txt' with { type: 'text' };
    export { default as again } from './d.json' with { type: 'json' };
    export default { fetch: () => Response.json([json, json === plain, text]) };`,
  );
  t.is(await textOf(fn.fetch('http://x/')), '[{"a":1},true,"text"]');
});

for (const [statement, message] of [
  [
    `import x from './d.bin' with { type: 'text' }`,
    `"main.js" imports "./d.bin" with type 'text', but it is a module of kind "data", whose type is 'bytes' (main.js:1:15)`,
  ],
  [
    `export * from './a.js' with { type: 'json' }`,
    `"main.js" imports "./a.js" with type 'json', but it is JavaScript: leave the type out (main.js:1:15)`,
  ],
  [
    `import { env } from 'edgehost:workers' with { type: 'json' }`,
    `"main.js" imports "edgehost:workers" with type 'json', but it is built in: leave the type out (main.js:1:21)`,
  ],
  [
    `import x from './d.txt' with { type: 'css' }`,
    `"main.js" imports "./d.txt" with type 'css', which is none of 'json', 'text', 'bytes' (main.js:1:15)`,
  ],
  [
    `import x from './d.txt' with { lazy: 'yes' }`,
    `"main.js" imports "./d.txt" with the attribute "lazy", but there is only "type": 'json', 'text', 'bytes' (main.js:1:15)`,
  ],
  [
    `import x from './d.bin'; import y from './d.bin' with { type: 'bytes' }`,
    `"main.js" imports "./d.bin" both with type 'bytes' and without: take one of the two (main.js:1:15)`,
  ],
] as const) {
  test(`load() refuses ${statement}`, async t => {
    const error = await t.throwsAsync(load(newHost(t), `${statement};\nexport default { fetch() {} };`), {
      code: 'EDGE_SCRIPT_IMPORT',
    });
    t.true(error?.message.endsWith(message), error?.message);
  });
}

test('loadFile() takes a file of any ending as what an import of it asks for', async t => {
  const root = mkdtempSync(join(tmpdir(), 'edgehost-attributes-'));
  t.teardown(() => rmSync(root, { recursive: true, force: true }));
  writeFileSync(
    join(root, 'edgehost.toml'),
    'name = "pictures"\nmain = "main.js"\ncompatibility_date = "2024-01-01"\n',
  );
  writeFileSync(join(root, 'a.png'), BYTES);
  writeFileSync(join(root, 'a.xyz'), 'text');
  writeFileSync(
    join(root, 'main.js'),
    `import png from './a.png' with { type: 'bytes' };
    import xyz from './a.xyz' with { 'type': 'text' };
    export default { fetch: () => Response.json([[...png], xyz]) };`,
  );
  const fn = await newHost(t).loadFile(join(root, 'edgehost.toml'));
  t.is(await textOf(fn.fetch('http://x/')), '[[1,2,250],"text"]');
});
