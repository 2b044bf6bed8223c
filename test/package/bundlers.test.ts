/** Applications that are packed into one file, and those whose files are traced and copied. */
import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { nodeFileTrace } from '@vercel/nft';
import anyTest, { type TestFn } from 'ava';
import { type BuildOptions, build } from 'esbuild';
import { ROOT } from '../docs/markdown.js';
import { installedProject } from './installed-project.js';

const run = promisify(execFile);
const test = anyTest.serial as TestFn<never>; // no context; one project, made once
let project = '';
const elsewhere = mkdtempSync(join(tmpdir(), 'edgehost-bundlers-'));

const APP = `
  const host = new EdgeHost({ storage: ':memory:' });
  const fn = await host.load('export default { fetch: () => new Response("hello") }');
  process.stdout.write(await (await fn.fetch('https://example.com/')).text());
  await host.close();`;

test.before('pack and install', async t => {
  t.timeout(300_000);
  ({ project } = await installedProject());
  writeFileSync(join(project, 'app.js'), `import { EdgeHost } from 'edgehost';${APP}`);
  writeFileSync(join(project, 'app.cjs'), `const { EdgeHost } = require('edgehost'); (async () => {${APP}})();`);
});

test.after.always(() => {
  for (const folder of [project, elsewhere]) rmSync(folder, { recursive: true, force: true });
});

interface Failed {
  readonly stderr: string;
}

const isFailed = (error: unknown): error is Failed =>
  error instanceof Error && 'stderr' in error && typeof error.stderr === 'string';

for (const [input, format] of [
  ['app.js', 'esm'],
  ['app.cjs', 'cjs'],
] as const) {
  test(`an application in one file of esbuild, ${format}, says at once what to do, and runs with the package outside`, async t => {
    t.timeout(120_000);
    const outfile = join(project, `packed.${format === 'esm' ? 'mjs' : 'cjs'}`);
    const entryPoints = [join(project, input)];
    const options: BuildOptions = { entryPoints, bundle: true, platform: 'node', format, outfile };
    await build({ ...options, logLevel: 'silent' });
    const error = await t.throwsAsync(run(process.execPath, [outfile], { cwd: elsewhere }));
    t.true(isFailed(error));
    t.regex(
      isFailed(error) ? error.stderr : '',
      /edgehost was (packed into a bundle|imported without the file).*external: \['edgehost'\] for esbuild/,
    );
    t.true(isFailed(error) && error.stderr.includes("code: 'EDGE_PACKAGE_FILES'"));

    await build({ ...options, external: ['edgehost'] });
    t.is((await run(process.execPath, [outfile], { cwd: elsewhere })).stdout, 'hello');
  });
}

test('the files that @vercel/nft finds are enough, and one that is missing is named', async t => {
  t.timeout(120_000);
  const { fileList } = await nodeFileTrace([join(project, 'app.js')], { base: project, processCwd: project });
  for (const file of fileList) {
    mkdirSync(dirname(join(elsewhere, file)), { recursive: true });
    cpSync(join(project, file), join(elsewhere, file));
  }
  const app = join(elsewhere, 'app.js');
  t.is((await run(process.execPath, [app])).stdout, 'hello');
  rmSync(join(elsewhere, 'node_modules/edgehost/dist/src/isolate/parser.bundle.cjs'));
  const error = await t.throwsAsync(run(process.execPath, [app]));
  t.regex(isFailed(error) ? error.stderr : '', /edgehost was imported without the file .*parser\.bundle\.cjs/);
});

test('tracers are told of every file that processes and threads are started from', t => {
  const folder = join(ROOT, 'dist/src');
  const told = readFileSync(join(folder, 'package-files.js'), 'utf8');
  const bundles = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
    name => /\.bundle\.c?js$/.test(name) || name.startsWith('native/'),
  );
  t.true(bundles.length > 6);
  for (const name of bundles) t.true(told.includes(`'./${name}'`), name);
});

test('withEdgeHost() keeps the package outside, whatever form the configuration of Next has', async t => {
  const path = join(project, 'next.js');
  writeFileSync(
    path,
    `import { withEdgeHost } from 'edgehost/next';
     const phase = withEdgeHost(async phase => ({ distDir: phase }));
     const all = [withEdgeHost(), withEdgeHost({ output: 'standalone', serverExternalPackages: ['a', 'edgehost'] }), await phase('dev')];
     process.stdout.write(JSON.stringify(all));`,
  );
  const { stdout } = await run(process.execPath, [path]);
  t.deepEqual(JSON.parse(stdout), [
    { serverExternalPackages: ['edgehost'] },
    { output: 'standalone', serverExternalPackages: ['a', 'edgehost'] },
    { distDir: 'dev', serverExternalPackages: ['edgehost'] },
  ]);
});
