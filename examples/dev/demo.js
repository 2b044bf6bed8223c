// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the texts are source code
// A morning with `edgehost dev`: starts it on a copy of the folder functions, edits files as an author would, and fails when something is
// not as it says.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const MAIN = fileURLToPath(new URL('../../dist/src/cli/main.js', import.meta.url));

const folder = mkdtempSync(join(tmpdir(), 'edgehost-dev-demo-'));
cpSync(fileURLToPath(new URL('functions', import.meta.url)), folder, { recursive: true });
const dev = spawn(process.execPath, [MAIN, 'dev', folder, '--port', '0', '--json'], {
  stdio: ['ignore', 'pipe', 'inherit'],
});
const lines = createInterface({ input: dev.stdout })[Symbol.asyncIterator]();
try {
  await main();
} finally {
  dev.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
}
assert.ok(!existsSync(folder));

async function main() {
  console.log('\nedgehost dev examples/dev/functions');
  const { url, functions } = await next('listening');
  assert.deepEqual(
    functions.map(({ name }) => name),
    ['hello', 'notes'],
  );
  for (const { name, urls } of functions) console.log(`  ${name} answers ${urls.join(' ')}`);

  const hello = `${url}/hello?name=you`;
  assert.equal(await text(hello), 'Hello, you!\n');
  const { message } = await next('log');
  const { status, cpuMs } = await next('invocation');
  assert.equal(message, 'greeting you');
  console.log(`  GET /hello: ${status}, ${cpuMs.toFixed(1)} ms of CPU time; its console says "${message}"`);

  assert.equal((await fetch(`${url}/notes/today`, { method: 'PUT', body: 'buy milk' })).status, 201);
  assert.equal(await text(`${url}/notes/today`), 'buy milk');
  console.log('  a note is stored in a bucket, and read again');

  edit('_greeting.ts', 'Hello', 'Good morning');
  const { tookMs } = await next('loaded');
  assert.equal(await text(hello), 'Good morning, you!\n');
  console.log(`  _greeting.ts is edited: ${tookMs.toFixed(0)} ms later the new version answers`);

  edit('_greeting.ts', '`Good morning, ${name}!`', '`Good morning, ${name}!');
  const failed = await next('error');
  assert.match(failed.message, /_greeting\.ts:2:\d+: Unterminated template literal|_greeting\.ts:4:\d+: /);
  assert.equal(await text(hello), 'Good morning, you!\n');
  console.log(`  a quote is missing: ${failed.message.slice(failed.message.indexOf('_greeting'))}`);
  console.log('  the version before goes on answering');

  edit('_greeting.ts', '${name}!', '${name.first.second}!`');
  await next('loaded');
  assert.equal((await fetch(hello)).status, 500);
  const { outcome, error } = await next('invocation', event => event.outcome === 'exception');
  console.log(`  a bug at run time: ${outcome}, ${error.message}`);

  edit('_greeting.ts', '.first.second', '');
  await next('loaded');
  assert.equal(await text(hello), 'Good morning, you!\n');
  assert.equal(await text(`${url}/notes/today`), 'buy milk');
  console.log('  mended; the note is still there');

  const exited = once(dev, 'exit');
  dev.kill('SIGINT');
  await next('stopped');
  assert.deepEqual(await exited, [0, null]);
  await assert.rejects(fetch(hello));
  console.log('  Ctrl-C: stopped, and nothing listens any more');
}

/** The next event of a type, and one that is meant. */
async function next(type, isMeant = () => true) {
  for (;;) {
    const { value, done } = await lines.next();
    assert.ok(!done, `edgehost dev has ended before ${type}`);
    const event = JSON.parse(value);
    if (event.type === type && isMeant(event)) return event;
  }
}

async function text(address) {
  const response = await fetch(address);
  assert.equal(response.status, 200);
  return response.text();
}

function edit(file, from, to) {
  const path = join(folder, file);
  const before = readFileSync(path, 'utf8');
  assert.ok(before.includes(from), before);
  writeFileSync(
    path,
    before.replace(from, () => to),
  );
}
