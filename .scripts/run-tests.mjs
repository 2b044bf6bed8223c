// Runs AVA with the arguments given and ends with one line of counts, "N passed, N failed". What ends a run without failing a test (an
// uncaught exception, a file without tests, a timeout) counts as failed too. The exit code is AVA's. Without arguments every test runs, in
// three parts at the same time: AVA runs the files of a project whose tests are serial one after the other, and they wait for much (with two
// parts two cores were half idle).
import { spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';

const root = fileURLToPath(new URL('..', import.meta.url));
const ava = join(root, 'node_modules/ava/entrypoints/cli.mjs');
const color = process.stdout.isTTY ? '--color' : '--no-color';

const given = process.argv.slice(2);
const PARTS = 3;
const runs = given.length > 0 ? [given] : partsOf(testFiles());
const children = [];
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.on(signal, () => {
    for (const child of children) child.kill(signal);
  });
}
const results = await Promise.all(runs.map(run));
const passed = results.reduce((sum, result) => sum + result.passed, 0);
const failed = results.reduce((sum, result) => sum + result.failed, 0);
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = Math.max(...results.map(result => result.code));

function testFiles() {
  const folder = join(root, 'dist/test');
  const names = readdirSync(folder, { recursive: true }).filter(name => name.endsWith('.test.js'));
  return names.sort().map(name => join('dist/test', name));
}

function partsOf(files) {
  return Array.from({ length: PARTS }, (_, part) => files.filter((_, at) => at % PARTS === part));
}

async function run(args) {
  const child = spawn(process.execPath, [ava, color, ...args], { cwd: root, stdio: ['inherit', 'pipe', 'inherit'] });
  children.push(child);
  // AVA marks each test, and says in its summary how many passed only when all did.
  let passed = 0;
  let failed = 0;
  createInterface({ input: child.stdout }).on('line', line => {
    console.log(line);
    const plain = stripVTControlCharacters(line);
    if (/^ {2}[✔√] /.test(plain)) passed++;
    else if (/^ {2}[✘×] /.test(plain)) failed++;
    else {
      const [, count, what] =
        /^ {2}(\d+) (tests? passed|unhandled rejections?|uncaught exceptions?|tests? remained)/.exec(plain) ?? [];
      if (what?.endsWith('passed')) passed = Number(count);
      else if (what !== undefined) failed += Number(count);
    }
  });
  const code = await new Promise(resolve => child.on('close', resolve));
  return { passed, failed: code === 0 ? 0 : Math.max(failed, 1), code: code ?? 1 };
}
