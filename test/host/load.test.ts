import test, { type ExecutionContext } from 'ava';
import { transform } from 'esbuild';
import { handler, ISOLATIONS, newHost, textOf } from './new-host.js';

const failing: readonly { name: string; source: unknown; code: string; at?: [string, number, number]; text: RegExp }[] =
  [
    {
      name: 'does not parse',
      source: 'export default {\n  fetch( { return 1 }\n}',
      code: 'EDGE_SCRIPT_SYNTAX',
      at: ['f.js', 2, 12],
      text: /does not parse/,
    },
    {
      name: 'throws in its global scope',
      source: 'const a = 1;\nthrow new TypeError("boom");',
      code: 'EDGE_SCRIPT_THREW',
      at: ['f.js', 2, 7],
      text: /global scope threw TypeError: boom/,
    },
    {
      name: 'throws after a top-level await',
      source: 'await null;\nthrow new TypeError("boom");',
      code: 'EDGE_SCRIPT_THREW',
      at: ['f.js', 2, 7],
      text: /global scope threw TypeError: boom/,
    },
    { name: 'exports no handler', source: 'export const a = 1;', code: 'EDGE_SCRIPT_NO_HANDLER', text: /no handler/ },
    {
      name: 'imports a module that is not there',
      source: 'import x from "./nope.js";\nexport default { fetch() {} }',
      code: 'EDGE_SCRIPT_IMPORT',
      at: ['f.js', 1, 15],
      text: /"\.\/nope\.js", which is not among the modules/,
    },
    {
      name: 'imports a name that is not exported',
      source: {
        main: 'a.js',
        modules: { 'a.js': 'import { zip } from "./b.js";\nexport default {}', 'b.js': 'export const zap = 1' },
      },
      code: 'EDGE_SCRIPT_IMPORT',
      at: ['a.js', 1, 21],
      text: /does not provide an export named 'zip'/,
    },
    {
      name: 'imports a module of Node',
      source: 'import fs from "node:fsx"; export default {}',
      code: 'EDGE_SCRIPT_IMPORT',
      text: /"node:fsx".*Node has no such module/,
    },
    {
      name: 'never ends its global scope',
      source: 'for (;;);',
      code: 'EDGE_STARTUP_LIMIT',
      text: /limit startupMs is 400 ms/,
    },
  ];

for (const { name, source, code, at, text } of failing) {
  test(`load() rejects with ${code} when the script ${name}`, async t => {
    const host = newHost(t);
    // A wrong source is part of what is tested.
    const error = await t.throwsAsync(host.load(source as string, { name: 'f' }), { code, message: text });
    if (at === undefined) return;
    const [file, line, column] = at;
    t.like(error, { location: { file, line, column } });
    t.true(error.message.includes(`${file}:${line}:${column}`));
  });
}

test('load() rejects with a TypeError when the source is no string', async t => {
  const host = newHost(t);
  const wrong: unknown = 42;
  await t.throwsAsync(host.load(wrong as string), {
    instanceOf: TypeError,
    message: /is the number 42, expected a string/,
  });
});

const wrongOptions: readonly [string, object, RegExp][] = [
  ['an unknown option', { nam: 'x' }, /no option "nam"; its options are name/],
  ['a name of the wrong type', { name: 5 }, /Option name of load\(\) is the number 5, expected 1 to 63 letters/],
  [
    'a binding that is no identifier',
    { vars: { 'a-b': 'x' } },
    /vars .* has the key "a-b", expected a JavaScript identifier/,
  ],
  ['a reserved word as binding', { buckets: { class: 'x-y-z' } }, /"class"/],
  ['a binding given twice', { vars: { A: '1' }, secrets: { A: '2' } }, /"A" is listed twice/],
  [
    'a compatibility date that is none',
    { compatibilityDate: '2024-02-31' },
    /expected a date as the string YYYY-MM-DD/,
  ],
  ['a route with a star in the middle', { routes: ['a*b/c'] }, /Route pattern/],
  ['an unknown limit', { limits: { cpu: 5 } }, /cpu/],
];

for (const [name, options, message] of wrongOptions) {
  test(`load() rejects with a clear error when given ${name}`, async t => {
    await t.throwsAsync(newHost(t).load(handler('return new Response()'), options), { message });
  });
}

test('load() links several modules, JSON, text, data and import() of its own', async t => {
  const host = newHost(t);
  const fn = await host.load(
    {
      main: 'a.js',
      modules: {
        'a.js': `import { zip } from './lib/b.js'; import json from './c.json'; import text from './t.txt'; import data from './d.bin';
          export default { async fetch() {
            const again = await import('./lib/b.js');
            const refused = await import('node:nothing').catch(error => error.constructor === TypeError);
            return Response.json([zip, json, text, [...new Uint8Array(data)], again.zip, refused, import.meta.url]);
          } }`,
        'lib/b.js': "import { y } from '../y.js'; export const zip = 'zip' + y;",
        'y.js': "export const y = '!';",
        'c.json': '{"x":1}',
        't.txt': 'hello',
        'd.bin': new Uint8Array([1, 2, 3]),
      },
    },
    { name: 'modules' },
  );
  t.deepEqual(JSON.parse(await textOf(fn.fetch('http://x/'))), [
    'zip!',
    { x: 1 },
    'hello',
    [1, 2, 3],
    'zip!',
    true,
    'file:///a.js',
  ]);
});

/** The stack of an error that a deployment's handler makes. */
async function stackOf(t: ExecutionContext, modules: Record<string, string>): Promise<string> {
  const fn = await newHost(t).load({ main: 'dist/out.js', modules });
  return textOf(fn.fetch('http://x/'));
}

const WRITTEN =
  'export default {\n  fetch(): Response {\n    const error: Error = new Error("here");\n    return new Response(error.stack);\n  },\n};\n';

test('stack has the places of the file that the author wrote when the module has a source map in it', async t => {
  const { code } = await transform(WRITTEN, {
    loader: 'ts',
    minify: true,
    sourcemap: 'inline',
    sourcefile: '../src/hello.ts',
  });
  t.regex(await stackOf(t, { 'dist/out.js': code }), /^Error: here\n {4}at .*src\/hello\.ts:3:26\)?$/m);
});

test('stack has the places of the file that the author wrote when the source map is another module', async t => {
  const { code, map } = await transform(WRITTEN, {
    loader: 'ts',
    minify: true,
    sourcemap: true,
    sourcefile: '../src/hello.ts',
  });
  const modules = { 'dist/out.js': `${code}//# sourceMappingURL=out.js.map\n`, 'dist/out.js.map': map };
  t.regex(await stackOf(t, modules), /src\/hello\.ts:3:26/);
});

for (const [what, map] of Object.entries({
  'is no JSON': '{',
  'is of another shape': '{"version":3,"sources":1,"mappings":{}}',
  'has nonsense for mappings': '{"version":3,"sources":["x"],"mappings":"!!!!,////"}',
  'is missing': undefined,
})) {
  test(`stack has the places of the deployed text when its source map ${what}`, async t => {
    const code =
      'export default { fetch() { return new Response(new Error("here").stack); } };\n//# sourceMappingURL=out.js.map';
    t.regex(
      await stackOf(t, { 'dist/out.js': code, ...(map !== undefined && { 'dist/out.js.map': map }) }),
      /dist\/out\.js:1:48/,
    );
  });
}

test('stack has the columns of the deployed text behind an import() in the same line', async t => {
  const code = `export default { async fetch() { await import('./b.js'); await import('./b.js'); return new Response(new Error('here').stack); } };`;
  const stack = await stackOf(t, { 'dist/out.js': code, 'dist/b.js': '' });
  t.regex(stack, new RegExp(`dist/out\\.js:1:${code.indexOf('new Error') + 1}\\b`));
});

test('load() looks through a script of a million line breaks once', async t => {
  const host = newHost(t);
  const fn = await host.load(`${'\n'.repeat(1_000_000)}${handler('return new Response("there")')}`);
  t.is(await textOf(fn.fetch('https://x.test/')), 'there');
});

test('load() refuses modules whose names take more than a mebibyte', async t => {
  const host = newHost(t);
  const source = (length: number) => ({
    main: 'main.js',
    modules: { 'main.js': handler('return new Response("there")'), ['x'.repeat(length - 'main.js'.length)]: '' },
  });
  await t.notThrowsAsync(host.load(source(1024 * 1024)));
  await t.throwsAsync(host.load(source(1024 * 1024 + 1)), {
    instanceOf: RangeError,
    message: /2 modules whose names are 1048577 characters, at most 1048576 /,
  });
});

test('load() runs a classic script', async t => {
  const fn = await newHost(t).load('addEventListener("fetch", event => event.respondWith(new Response("classic")))');
  t.is(await textOf(fn.fetch('http://x/')), 'classic');
});

test('load() gives vars and secrets to the handler', async t => {
  const fn = await newHost(t).load(handler('return Response.json(env)'), {
    vars: { A: 'a', B: { c: [1] } },
    secrets: { S: 's' },
  });
  t.deepEqual(JSON.parse(await textOf(fn.fetch('http://x/'))), { A: 'a', B: { c: [1] }, S: 's' });
});

test('load() of the same name replaces the function, which ends what it has begun', async t => {
  const host = newHost(t);
  const options = { name: 'f', routes: ['x/*'] };
  const fn = await host.load(handler('await scheduler.wait(50); return new Response("one")'), options);
  const { version } = fn;
  const slow = textOf(host.fetch('http://x/'));
  await host.load(handler('return new Response("two")'), options);
  t.is(await textOf(host.fetch('http://x/')), 'two');
  t.is(await slow, 'one');
  t.not(fn.version, version);
});

test('load() leaves the old version in place when the new one fails', async t => {
  const host = newHost(t);
  const options = { name: 'f', routes: ['x/*'] };
  await host.load(handler('return new Response("one")'), options);
  await t.throwsAsync(host.load('throw 1', options), { code: 'EDGE_SCRIPT_THREW' });
  t.is(await textOf(host.fetch('http://x/')), 'one');
});

test('load() tells the startup time and the handlers', async t => {
  const fn = await newHost(t).load('export default { fetch() {}, scheduled() {} }');
  t.deepEqual([...fn.handlers].sort(), ['fetch', 'scheduled']);
  t.true(fn.startupTimeMs >= 0 && fn.startupTimeMs < 400);
});

test('new EdgeHost() throws a clear error for wrong options', t => {
  t.throws(() => newHost(t, { storag: 'x' } as object), { message: /no option "storag"/ });
  t.throws(() => newHost(t, { isolation: 'none' } as object), { message: /expected one of 'process', 'thread'/ });
  t.throws(() => newHost(t, { maxIsolates: 0 }), { instanceOf: RangeError });
});

test('load() refuses cron triggers of a function without a scheduled handler, and keeps what served before', async t => {
  const host = newHost(t);
  const crons = ['0 4 * * *'];
  const fetches = handler('return new Response("fetched")');
  const message =
    'Cannot load function "job": the cron triggers "0 4 * * *" need the handler scheduled, the script has the handlers fetch';
  await t.throwsAsync(host.load(fetches, { name: 'job', crons }), { code: 'EDGE_SCRIPT_NO_HANDLER', message });
  t.is(host.account('default').function('job'), undefined);
  await host.load(fetches, { name: 'job' });
  t.throws(() => host.account('default').setTriggers('job', { crons }), {
    code: 'EDGE_SCRIPT_NO_HANDLER',
    message: /^Cannot set the triggers of function "job"/,
  });
  const both = 'export default { fetch: () => new Response("both"), scheduled() {} }';
  await host.load(both, { name: 'job', crons });
  await t.throwsAsync(host.load(fetches, { name: 'job', crons }), { code: 'EDGE_SCRIPT_NO_HANDLER' });
  t.is(await textOf(host.account('default').function('job')?.fetch('http://x/') ?? Promise.reject()), 'both');
  await t.throwsAsync(host.account('default').check(fetches, { crons }), { code: 'EDGE_SCRIPT_NO_HANDLER' });
  await t.notThrowsAsync(host.load('addEventListener("scheduled", () => {})', { name: 'classic', crons }));
});

for (const isolation of ISOLATIONS) {
  test(`load() takes modules that begin with a line for a shell, whatever they import (${isolation})`, async t => {
    const host = newHost(t, { isolation });
    const line = '#!/usr/bin/env edge `import("x")`\n';
    for (const [source, text] of [
      ['export default { fetch: () => new Response("plain") };', 'plain'],
      ['export default { fetch: async () => new Response((await import("./b.js")).default) };', 'imported'],
      ['export default { fetch: () => new Response(import.meta.url) };', 'file:///a.js'],
      ['addEventListener("fetch", event => event.respondWith(new Response("script")));', 'script'],
    ] as const) {
      const modules = { 'a.js': `${line}${source}`, 'b.js': `${line}export default "imported";` };
      const fn = await host.load(text === 'script' ? modules['a.js'] : { main: 'a.js', modules });
      t.is(await textOf(fn.fetch('http://x/')), text);
    }
  });
}
