// Runs AVA with the arguments given and ends with one line of counts, "N passed, N failed". What ends a run without failing a test (an
// uncaught exception, a file without tests, a timeout) counts as failed too. The exit code is AVA's.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';

const ava = fileURLToPath(new URL('../node_modules/ava/entrypoints/cli.mjs', import.meta.url));
const color = process.stdout.isTTY ? '--color' : '--no-color';
const child = spawn(process.execPath, [ava, color, ...process.argv.slice(2)], {
  stdio: ['inherit', 'pipe', 'inherit'],
});
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal));

// AVA marks each test, and says in its summary how many passed only when all did.
let passed = 0;
let failed = 0;
child.stdout.pipe(process.stdout, { end: false });
createInterface({ input: child.stdout }).on('line', line => {
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
child.on('close', code => {
  console.log(`${passed} passed, ${code === 0 ? 0 : Math.max(failed, 1)} failed`);
  process.exitCode = code ?? 1;
});
