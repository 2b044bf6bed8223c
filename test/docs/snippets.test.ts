/**
 * Every program in the documentation runs: `js` in a process of its own, `ts` through the compiler with the types of function authors,
 * `toml` as a configuration file. What a line prints is what its comment says: `console.log(1 + 1); // 2`.
 */
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import PQueue from 'p-queue';
import { readServerFile } from '../../src/cli/serving/server-file.js';
import { readFunctionFile } from '../../src/host/deploy/config-file.js';
import { type Block, blocksOf, documents, ROOT } from './markdown.js';

const run = promisify(execFile);
const queue = new PQueue({ concurrency: Math.max(1, Math.floor(cpus().length / 2)) });
const blocks = documents().flatMap(blocksOf);
const PACKAGES = [
  '@photostructure/sqlite',
  'esbuild',
  'express',
  'fastify',
  'redis',
  '@hono/node-server',
  '@jest/globals',
  '@nestjs/common',
  '@nestjs/core',
  'hono',
  'koa',
  'reflect-metadata',
  'vitest',
];
/** Programs for test runners have another name for the language, so that they are told apart. */
const isForRunner = ({ language }: Block): boolean => language === 'javascript';

function folder(t: ExecutionContext): string {
  const path = mkdtempSync(join(tmpdir(), 'edgehost-docs-'));
  t.teardown(() => rmSync(path, { recursive: true, force: true }));
  mkdirSync(join(path, 'node_modules'));
  symlinkSync(ROOT, join(path, 'node_modules/edgehost'));
  for (const name of PACKAGES) {
    mkdirSync(dirname(join(path, 'node_modules', name)), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules', name), join(path, 'node_modules', name));
  }
  return path;
}

for (const block of blocks.filter(({ language }) => language === 'js')) {
  test(`the program at ${block.place} runs`, async t => {
    t.timeout(120_000);
    const cwd = folder(t);
    writeFileSync(join(cwd, 'snippet.mjs'), programOf(block));
    const { stdout } = await queue.add(() => run(process.execPath, ['snippet.mjs'], { cwd, timeout: 60_000 }));
    t.deepEqual(stdout.split('\n').slice(0, -1), promisedLines(block.code));
  });
}

for (const block of blocks.filter(isForRunner)) {
  const isVitest = block.code.includes("from 'vitest'");
  test(`the tests at ${block.place} pass in ${isVitest ? 'vitest' : 'jest'}`, async t => {
    t.timeout(120_000);
    const cwd = folder(t);
    writeFileSync(join(cwd, 'package.json'), '{"type":"module","jest":{"transform":{}}}');
    writeFileSync(join(cwd, 'plugin.test.js'), block.code);
    const args = isVitest
      ? [join(ROOT, 'node_modules/vitest/vitest.mjs'), 'run', '--root', cwd, '--no-color']
      : ['--experimental-vm-modules', join(ROOT, 'node_modules/jest/bin/jest.js'), '--rootDir', cwd, '--ci'];
    const { stdout, stderr } = await queue.add(() => run(process.execPath, args, { cwd, timeout: 100_000 }));
    t.regex(stdout + stderr, /Tests:? +1 passed/);
  });
}

test('the functions in TypeScript compile with the types of the package', async t => {
  t.timeout(120_000);
  const cwd = folder(t);
  const files = blocks.filter(({ language }) => language === 'ts');
  for (const [index, { place, code }] of files.entries())
    writeFileSync(join(cwd, `${index}.ts`), `// ${place}\n${code}`);
  t.true(files.length > 0);
  const compilerOptions = {
    strict: true,
    noEmit: true,
    target: 'es2022',
    module: 'esnext',
    moduleResolution: 'bundler',
    lib: ['es2023'],
    types: ['edgehost/worker'],
  };
  writeFileSync(join(cwd, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }));
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
  await t.notThrowsAsync(run(process.execPath, [tsc, '-p', cwd], { cwd }));
});

for (const { place, code } of blocks.filter(({ language }) => language === 'toml')) {
  test(`the configuration file at ${place} is valid`, async t => {
    const cwd = folder(t);
    const main = /^main = "(.*)"/m.exec(code)?.[1] ?? 'index.js';
    mkdirSync(dirname(join(cwd, main)), { recursive: true });
    writeFileSync(join(cwd, main), 'export default { fetch: () => new Response() };');
    writeFileSync(join(cwd, 'edgehost.toml'), code);
    await t.notThrowsAsync(
      /^\[\[accounts\]\]/m.test(code) ? readServerFile(join(cwd, 'edgehost.toml')) : readFunctionFile(cwd),
    );
  });
}

/** Ports that a reader would choose are taken by chance here; what a program leaves open ends with it. */
function programOf({ before, code, after }: Block): string {
  const shown = code.replace(/(\.listen\((?:\{ port: )?)\d+/g, (_, before: string) => `${before}0`);
  return `import assert from 'node:assert/strict';\n${before}\n${shown}\n${after}\nprocess.exit();\n`;
}

function promisedLines(code: string): string[] {
  return [...code.matchAll(/console\.log\(.*\/\/ (.*)$/gm)].map(match => match[1] ?? '');
}
