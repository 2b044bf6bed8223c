import { randomBytes } from 'node:crypto';
import test from 'ava';
import { answering, edgehost, folderOf } from './program.js';

test('edgehost check says of each function whether it would load, and exits with 1 when one would not', async t => {
  t.timeout(240_000);
  const cwd = await folderOf(t, {
    'good.ts': `const text: string = 'x';\n${answering('x')}`,
    'throws/index.js': 'const nothing = undefined;\nthrow new Error("at the start");\n',
    'config/edgehost.toml': 'name = "config"\nmain = "index.js"\n\n[vars]\nA = 1\n[limits]\ncpu = 3\n',
    'config/index.js': answering('x'),
    'package/index.js': "import { x } from 'not-there';\nexport default { fetch: () => new Response(x) };\n",
  });
  const { code, out } = await edgehost(t, ['check', '--json'], { cwd });
  t.is(code, 1);
  const findings = Object.fromEntries(
    out
      .trim()
      .split('\n')
      .map(line => JSON.parse(line))
      .map(finding => [finding.function, finding]),
  );
  t.like(findings.good, { isOk: true });
  t.like(findings.throws, { isOk: false, code: 'EDGE_SCRIPT_THREW' });
  t.regex(findings.throws.message, /at the start/);
  t.like(findings.config, {
    code: 'EDGE_CONFIG_INVALID',
    location: { file: 'config/edgehost.toml', line: 7, column: 1 },
  });
  t.regex(findings.config.message, /^config\/edgehost\.toml:7:1: .*cpu_ms/);
  t.is(findings.package.message, 'package/index.js:1:19: Could not resolve "not-there" (is the package installed?)');
  const good = await edgehost(t, ['check', 'good.ts'], { cwd });
  t.is(good.code, 0);
  t.regex(good.out, /^ok {4}good \(global scope \d+\.\d ms\)\n$/);
});

test('edgehost check finds routes of a server that belong to another account', async t => {
  t.timeout(240_000);
  const cwd = await folderOf(t, {
    'f.js': answering('f'),
    'server.toml': `[[accounts]]\nid = "a"\nzones = ["a.test"]\nfunctions = [{ path = "f.js", routes = ["a.test/*"] }]\n
[[accounts]]\nid = "b"\nfunctions = [{ path = "f.js", routes = ["a.test/b"] }]\n`,
  });
  const { code, out } = await edgehost(t, ['check', 'server.toml', '--json'], { cwd });
  t.is(code, 1);
  t.like(
    out
      .trim()
      .split('\n')
      .map(line => JSON.parse(line)),
    [
      { account: 'a', function: 'f', isOk: true },
      { account: 'b', function: 'f', isOk: false },
    ],
  );
});

test('edgehost check applies the limits of --plan', async t => {
  t.timeout(240_000);
  // Text that gzip cannot shorten below the megabyte of the free plan.
  const comment = randomBytes(1_200_000).toString('base64');
  const cwd = await folderOf(t, { 'big.js': `${answering('big')}//${comment}\n` });
  t.is((await edgehost(t, ['check', 'big.js'], { cwd })).code, 0);
  const { code, out } = await edgehost(t, ['check', 'big.js', '--plan', 'free'], { cwd });
  t.is(code, 1);
  t.regex(out, /EDGE_SCRIPT_TOO_LARGE/);
});

test('edgehost check bundles what packages have for browsers, and leaves modules of Node to the host', async t => {
  const cwd = await folderOf(t, {
    'replaced.js': `import random from 'random-package';\n${answering('x')}\nrandom();\n`,
    'needs-node.js': `import digest from 'node-package';\n${answering('x')}\nif (!digest().startsWith('ca97')) throw digest();\n`,
    'bare.mjs': `import { readFile } from 'node:fsx';\n${answering('x')}\nreadFile;\n`,
    'node_modules/random-package/package.json': '{ "main": "index.js", "browser": { "crypto": false } }',
    'node_modules/random-package/index.js': "const crypto = require('crypto');\nmodule.exports = () => crypto;\n",
    'node_modules/node-package/package.json': '{ "main": "index.js" }',
    'node_modules/node-package/index.js':
      "const crypto = require('crypto');\nmodule.exports = () => crypto.createHash('sha256').update('a').digest('hex');\n",
  });
  const { out } = await edgehost(t, ['check', '--json'], { cwd });
  const [bare, needsNode, replaced] = out
    .trim()
    .split('\n')
    .map(line => JSON.parse(line))
    .sort((a, b) => (a.function < b.function ? -1 : 1));
  t.like(replaced, { function: 'replaced', isOk: true });
  t.like(needsNode, { function: 'needs-node', isOk: true });
  t.regex(bare.message, /imports "node:fsx", .*: Node has no such module/);
});

test('edgehost check leaves to an import of a bundle the type that it asks for', async t => {
  const cwd = await folderOf(t, {
    'index.js': `import data from './a.bin' with { type: 'bytes' };
      import image from './a.png' with { type: 'bytes' };
      if (![data, image].every(value => value instanceof Uint8Array && value[0] === 97)) throw new Error('no bytes');
      ${answering('x')}\n`,
    'a.bin': 'a',
    'a.png': 'a',
  });
  const { code, out } = await edgehost(t, ['check', 'index.js'], { cwd });
  t.is(code, 0, out);
});

test('edgehost check reads the configuration of the hosted platform, with its environments, and tells what differs', async t => {
  t.timeout(240_000);
  const configuration = {
    name: 'shop',
    main: 'index.js',
    observability: { enabled: true },
    ai: { binding: 'AI' },
    env: { staging: {} },
  };
  const cwd = await folderOf(t, { 'wrangler.json': JSON.stringify(configuration), 'index.js': answering('x') });
  const { code, out } = await edgehost(t, ['check'], { cwd });
  t.is(code, 0, out);
  t.regex(out, /^ok {4}shop /);
  t.regex(out, /wrangler\.json: "ai" \(env\.AI\) is not available here: call a model by fetch/);
  t.regex(out, /wrangler\.json: ignored, as they concern deployment to the hosted platform: observability\n/);
  t.regex((await edgehost(t, ['check', '--env', 'staging'], { cwd })).out, /^ok {4}shop-staging /);
  const usual = await edgehost(t, ['check'], { cwd, env: { CLOUDFLARE_ENV: 'staging' } });
  t.regex(usual.out, /^ok {4}shop-staging /);
  const missing = await edgehost(t, ['check', '-e', 'nope'], { cwd });
  t.is(missing.code, 1);
  t.regex(missing.out, /wrangler\.json:\d+:\d+: The environment is "nope", expected one of staging/);
});

test('edgehost check prefers edgehost.toml to the configuration of the hosted platform', async t => {
  t.timeout(240_000);
  const cwd = await folderOf(t, {
    'wrangler.toml': 'name = "other"\n',
    'edgehost.toml': 'name = "own"\nmain = "index.js"\n',
    'index.js': answering('x'),
  });
  const { code, out } = await edgehost(t, ['check'], { cwd, env: { CLOUDFLARE_ENV: 'staging' } });
  t.is(code, 0, out);
  t.regex(out, /^ok {4}own /);
  t.notRegex(out, /wrangler/);
});
