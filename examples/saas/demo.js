// Runs the application of app.js through a day with good and bad plugins, says what happens, and fails when something is not as it says.
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as pause } from 'node:timers/promises';
import { startApp } from './app.js';

const PICTURE = '/plugins/acme/pictures/cat.png';
const LOOPS = 5;
const BOMBS = 3;
/** Answers that each neighbour must give. */
const AT_LEAST = 10;
/** Time between two visitors of a neighbour, so that the free plan's 1,000 requests a minute are enough for them. */
const VISIT_EVERY_MS = 10;

const storage = mkdtempSync(join(tmpdir(), 'edgehost-demo-'));
const startedMs = performance.now();
/** Every process that ever ran functions. */
const cells = new Set();
let app;
try {
  await main();
} finally {
  await app?.close();
  rmSync(storage, { recursive: true, force: true });
}
for (const pid of cells) assert.ok(!isRunning(pid), `process ${pid} is still there`);
assert.ok(!existsSync(storage));
say(`\nClosed: ${cells.size} cell processes ran in all and none is left; the folder is gone.`);
say(`Everything above was checked. ${seconds(performance.now() - startedMs)} in all.`);

async function main() {
  heading('Three customers, three plugins');
  app = await startApp({ storage });
  for (const plugin of app.plugins) {
    say(
      `  ${plugin.account}/${plugin.name} loaded from its folder; global scope took ${plugin.startupTimeMs.toFixed(1)} ms`,
    );
  }
  noteCells();
  say(`  ${cells.size} cell processes: one for each account`);
  assert.equal(cells.size, 3);

  heading('Requests over HTTP');
  say(`  acme:    ${await text('/plugins/acme/')}`);
  say(`  globex:  ${await text('/plugins/globex/?cents=1999')}`);
  say(`  initech: ${await text('/plugins/initech/')}`);
  assert.equal(await text('/plugins/globex/?cents=1999'), '{"price":"19.99 EUR"}');

  heading("An object in acme's bucket");
  const picture = randomBytes(300_000);
  const put = await fetch(app.url + PICTURE, {
    method: 'PUT',
    body: picture,
    headers: { 'Content-Type': 'image/png' },
  });
  assert.equal(put.status, 201);
  const { size, etag } = await put.json();
  assert.equal(size, picture.length);
  say(`  stored ${size} bytes, etag ${etag}`);
  await checkPicture(picture, etag);
  say('  read it back: the same bytes, the same etag');

  heading('The application restarts');
  await app.close();
  app = undefined;
  app = await startApp({ storage });
  noteCells();
  await checkPicture(picture, etag);
  say('  a new host on the same folder: the same bytes, the same etag');

  heading(`globex's plugin loops for ever, ${LOOPS} times`);
  await attack('/plugins/globex/loop', LOOPS, 'exceededCpu', ['/', '/plugins/acme/', '/plugins/initech/']);
  assert.equal(await text('/plugins/globex/?cents=5'), '{"price":"0.05 EUR"}');
  say('  globex answers again');

  heading(`initech's plugin explodes in memory, ${BOMBS} times`);
  await attack('/plugins/initech/explode', BOMBS, 'exceededMemory', ['/', '/plugins/acme/', '/plugins/globex/']);
  assert.match(await text('/plugins/initech/'), /^visitor number/);
  say('  initech answers again');
  await checkPicture(picture, etag);
  say("  acme's picture is as it was");
}

/** Lets a plugin misbehave while visitors come to everybody else, and counts what everybody got. */
async function attack(path, times, outcome, neighbours) {
  const outcomes = [];
  const onInvocation = event => {
    if (event.url?.endsWith(path)) outcomes.push(event.outcome);
  };
  app.host.on('invocation', onInvocation);
  const isOver = new AbortController();
  const visits = neighbours.map(neighbour => visit(neighbour, isOver.signal));

  const beganMs = performance.now();
  for (let i = 0; i < times; i++) {
    const response = await fetch(app.url + path);
    await response.text();
    assert.equal(response.status, 503);
    noteCells();
  }
  const tookMs = performance.now() - beganMs;
  isOver.abort();

  say(`  each time it was ended and answered with 503 (${outcomes.join(', ')}); ${seconds(tookMs)} in all`);
  for (const [index, { answers, failures, slowestMs }] of (await Promise.all(visits)).entries()) {
    say(
      `  meanwhile ${neighbours[index]} gave ${answers} answers, ${failures} failures, slowest ${slowestMs.toFixed(0)} ms`,
    );
    assert.equal(failures, 0);
    assert.ok(answers >= AT_LEAST);
  }
  assert.deepEqual(outcomes, Array(times).fill(outcome));
  app.host.off('invocation', onInvocation);
}

/** One visitor after the other. */
async function visit(path, signal) {
  let answers = 0;
  let failures = 0;
  let slowestMs = 0;
  do {
    const beganMs = performance.now();
    const response = await fetch(app.url + path);
    await response.text();
    slowestMs = Math.max(slowestMs, performance.now() - beganMs);
    if (response.status === 200) answers++;
    else failures++;
    await pause(VISIT_EVERY_MS);
  } while (!signal.aborted || answers < AT_LEAST);
  return { answers, failures, slowestMs };
}

async function checkPicture(picture, etag) {
  const response = await fetch(app.url + PICTURE);
  assert.equal(response.status, 200);
  assert.equal(response.headers.get('ETag'), `"${etag}"`);
  assert.equal(response.headers.get('Content-Type'), 'image/png');
  assert.equal(sha256(new Uint8Array(await response.arrayBuffer())), sha256(picture));
}

async function text(path) {
  const response = await fetch(app.url + path);
  assert.equal(response.status, 200);
  return (await response.text()).trim();
}

function noteCells() {
  for (const { pid } of app.host.health().cells) if (pid !== undefined) cells.add(pid);
}

function isRunning(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

function sha256(bytes) {
  return createHash('sha256').update(bytes).digest('hex');
}

function seconds(ms) {
  return `${(ms / 1000).toFixed(1)} s`;
}

function heading(words) {
  say(`\n${words}`);
}

function say(words) {
  console.log(words);
}
