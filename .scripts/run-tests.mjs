// Runs AVA and ends with one line of counts, "N passed, M failed". What ends a run without failing a test (an uncaught exception, a file
// without tests, a timeout) counts as failed too. Before that line stand the tests that failed, and how many were skipped for which reason.
//
// With arguments, they are AVA's. Without, the tests run that EDGEHOST_TESTS names (see SLOW, PROGRAMS and ENGINE): several AVA processes take files from
// one queue, since the tests of a file run one after the other and often wait for another process. A batch that failed beside others runs once
// more with nothing beside it: tests of limits need some of the machine. What passes then is told above the counts; what fails again has failed.
import { spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';

/**
 * Files that take longer than ten seconds while others run beside them, longest first. Each is a batch of its own, before all others, so that no
 * process is left alone with one of them at the end.
 */
const SLOW = [
  'attacks/attacks',
  'attacks/runs',
  'attacks/loaded',
  'bindings/socket/database-clients',
  'attacks/confined-cells',
  'attacks/environments',
  'limits/attacks',
  'host/runs/limits',
  'host/runs/attacks',
  'attacks/callback-bombs',
  'host/objects/unstored-writes',
  'host/bodies/own-bodies',
  'host/objects/redeploy',
  'docs/snippets',
  'cli/templates',
  'host/queues/consumers',
  'bindings/complete-binding',
  'host/objects/sync-storage',
  'host/runs/run',
  'host/cells/warm-cells',
  'host/cells/groups',
  'limits/every-limit',
  'host/containment',
  'attacks/hijacked-cell',
  'attacks/hostile-calls',
  'limits/cpu',
  'backend/host',
  'host/ingress/http2',
  'host/bodies/passed-on-bodies',
  'backend/two-applications',
  'host/request-signal',
  'host/objects/kill',
  'host/ingress/websocket/socket-attacks',
  'backend/spawn/connect-backend',
  'backend/spawn/backend-process',
  'cli/dev',
  'cli/serve',
  'cli/dev-attacks',
  'limits/deployment',
  'bindings/loader/sharing',
  'clients/programs',
  'faults/system-limits',
  'faults/cells',
  'host/accounts/remove-crash',
  'attacks/hostile-process',
  'clients/aws-sdk',
  'limits/rates',
  'host/usage/kill',
  'storage/crash',
  'storage/kv-crash',
  'bindings/cache/crash',
  'host/shares',
  'pool/stuck-threads',
  'host/ingress/listener',
  'attacks/layers',
  'examples/demo',
  'examples/cluster',
  'examples/chat',
  'examples/agent',
  'management/state/secrets-key',
  'storage/full-disk',
  'host/platform-errors',
  'host/deploy/many-imports',
  'attacks/hostile-socket',
  'host/caches/front-cache',
  'host/ingress/websocket/socket-limits',
  'host/rpc/rpc',
  'limits/requests',
  'host/run-to-end',
  'host/events/last-words',
  'host/unheard',
  'pool/sandbox/sandbox',
  'bindings/socket/sockets',
  'limits/stalled',
  'host/fetch',
  'host/objects/timers',
  'host/load',
  'host/objects/storage',
  'host/failing-options',
  'host/context',
  'bindings/bucket/store/listing-index',
  'host/bodies/unread-bodies',
  'host/sql/values',
  'host/ingress/fastify',
  'host/rpc/service-fetch',
  'host/objects/objects',
  'host/sql/attacks',
  'host/objects/sockets/sleeping-sockets',
  'limits/memory',
  'host/usage/usage',
  'host/mistakes',
  'host/handles',
  'attacks/abandoned-requests',
  'bindings/callbacks/callbacks',
  'limits/connections',
  'limits/instances',
  'host/ingress/answers',
  'pool/faults',
  'host/events/cron',
  'bindings/bucket/list',
  'limits/pool-work',
  'pool/launcher/launcher',
  'host/ingress/websocket/client-sockets',
  'host/ingress/response-head',
  'host/objects/names',
  'bindings/websocket/outgoing',
  'attacks/hostile-heads',
  'host/ingress/bodies',
  'limits/subrequests',
  'attacks/native',
  'host/accounts/update',
  'host/objects/ending',
  'management/openapi',
  'host/telemetry/open-telemetry',
  'host/bodies/announced-lengths',
  'attacks/host-hoards',
  'host/ingress/timeouts',
  'host/rpc/pipelining',
  'host/bodies/brotli-streams',
  'host/custom-domains',
  'host/bodies/spliced-lengths',
  'host/ingress/compression',
  'attacks/cell-output',
  'host/sql/copies',
  'host/cells/memory-budget',
  'host/bodies/failing-bodies',
  'backend/client/level',
  'host/bodies/streams-of-functions',
].map(name => join('dist/test', `${name}.test.js`));

/** Batches of the other files for each process: few, since each starts AVA anew; not one, since they do not take equally long. */
const BATCHES = 4;

/** A batch that has told nothing for so long is stuck: longer than any test may take. AVA's own limit does not see a test whose timers go on. */
const SILENT_MS = 300_000;

/** Batches that are told at the end because they took longest. */
const SLOWEST = 12;

/** More batches than this that fail are no accident of the machine. */
const MOST_RERUNS = 3;

/**
 * Folders and files that start programs as their users do (the CLI, the examples, the programs of the documentation, installed packages, clients of
 * others), kill processes at random moments, damage or fill disks, or flood the host. With EDGEHOST_TESTS=long these and the slow files run alone,
 * without it all others, which take a third of the time.
 */
const PROGRAMS = [
  'attacks/callback-bombs',
  'benchmarks/',
  'bindings/callbacks/value-bytes',
  'bindings/cache/crash',
  'bindings/complete-binding',
  'bindings/cron/kill',
  'bindings/socket/database-clients',
  'bindings/sql/crash',
  'cli/',
  'clients/',
  'docs/snippets',
  'examples/',
  'faults/',
  'fuzz/',
  'host/accounts/remove-crash',
  'host/cells/load-storm',
  'host/containment',
  'host/objects/ended-engine',
  'host/objects/kill',
  'host/objects/unstored-writes',
  'host/usage/kill',
  'management/state/secrets-key',
  'package/',
  'ports/',
  'backend/spawn/',
  'backend/two-applications',
  'storage/crash',
  'storage/damage/',
  'storage/full-disk',
  'storage/kv-crash',
].map(name => join('dist/test', name));

/**
 * The engine's own tests, which may differ between lines of Node: realms, isolates, cells, frames, limits, attacks. With EDGEHOST_TESTS=engine these
 * run alone: all else is plain JavaScript of the host, or uses the same parts again. With EDGEHOST_TESTS_PART=1/2 every other file of them, with 2/2 the
 * rest.
 */
const ENGINE = ['attacks/', 'guest/', 'host/bodies/', 'isolate/', 'limits/', 'pool/', 'protocol/'].map(name =>
  join('dist/test', name),
);

/** The slow files among them that run there too. The others use what the quick ones try, with more load: the machine's own Node is enough for them. */
const SLOW_OF_ENGINE = ['attacks/attacks', 'attacks/hijacked-cell', 'limits/attacks'].map(name =>
  join('dist/test', `${name}.test.js`),
);

const root = fileURLToPath(new URL('..', import.meta.url));
const ava = join(root, 'node_modules/ava/entrypoints/cli.mjs');
const color = process.stdout.isTTY ? '--color' : '--no-color';
const began = process.uptime();

const given = process.argv.slice(2);
const processes = given.length > 0 ? 1 : availableParallelism() + 2;
const batches = given.length > 0 ? [given] : batchesOf(testFiles());
const totals = { passed: 0, failed: 0, code: 0, failures: [], skipped: new Map() };
/** Batches that failed beside others, with what they found. */
const failed = [];
/** Seconds, by the first file of the batch. */
const took = new Map();
let isStopped = false;
const children = new Set();
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.on(signal, () => {
    isStopped = true;
    batches.length = 0;
    for (const child of children) child.kill(signal);
  });
}
await Promise.all(Array.from({ length: processes }, work));
const accidents = await settleFailed();
console.log(`\n  ${Math.round(process.uptime() - began)} s`);
if (given.length === 0) tellSlowest();
for (const line of totals.failures) console.log(line);
for (const line of accidents) console.log(`  failed beside other tests, passed alone: ${line.trim()}`);
for (const [reason, count] of totals.skipped) console.log(`  ${count} skipped: ${reason}`);
console.log(`${totals.passed} passed, ${totals.failed} failed`);
process.exitCode = totals.code;

function testFiles() {
  const folder = join(root, 'dist/test');
  const names = readdirSync(folder, { recursive: true }).filter(name => name.endsWith('.test.js'));
  const files = names.sort().map(name => join('dist/test', name));
  const isOf = folders => file => folders.some(folder => file.startsWith(folder));
  const isLong = isOf([...PROGRAMS, ...SLOW]);
  const isOfEngine = isOf(ENGINE);
  switch (process.env.EDGEHOST_TESTS) {
    case undefined:
      return files.filter(file => !isLong(file));
    case 'long':
      return files.filter(isLong);
    case 'engine': {
      const [part, of] = (process.env.EDGEHOST_TESTS_PART ?? '1/1').split('/').map(Number);
      const isQuick = file => !isLong(file) || SLOW_OF_ENGINE.includes(file);
      return files.filter(file => isOfEngine(file) && isQuick(file)).filter((_, at) => at % of === part - 1);
    }
    default:
      throw new Error(`EDGEHOST_TESTS is ${process.env.EDGEHOST_TESTS}: long or engine, or not set`);
  }
}

function batchesOf(files) {
  const slow = SLOW.filter(file => files.includes(file));
  const gone = SLOW.filter(file => !existsSync(join(root, file)));
  if (gone.length > 0) throw new Error(`run-tests.mjs lists as slow what is no test: ${gone.join(', ')}`);
  const others = files.filter(file => !SLOW.includes(file));
  const count = processes * BATCHES;
  // Every count-th, so that the files of one folder, which often take equally long, are in different batches.
  return [
    ...slow.map(file => [file]),
    ...Array.from({ length: count }, (_, nth) => others.filter((_, at) => at % count === nth)).filter(
      batch => batch.length > 0,
    ),
  ];
}

async function work() {
  for (let batch = batches.shift(); batch !== undefined; batch = batches.shift()) {
    const found = await run(batch);
    if (found.code === 0) add(found);
    else failed.push({ batch, found });
  }
}

/** Returns the lines of the tests that failed beside others and pass alone. */
async function settleFailed() {
  const isRerun = given.length === 0 && failed.length <= MOST_RERUNS;
  const accidents = [];
  for (const { batch, found } of failed) {
    let last = found;
    if (isRerun && !isStopped) {
      console.log(`\n  Once more, with nothing beside: ${batch.join(' ')}\n`);
      last = await run(batch);
    }
    if (last.code === 0) accidents.push(...found.failures);
    add(last);
  }
  return accidents;
}

function add({ passed, failed: count, code, failures, skipped }) {
  totals.passed += passed;
  totals.failed += count;
  totals.code = Math.max(totals.code, code);
  totals.failures.push(...failures);
  for (const reason of skipped) totals.skipped.set(reason, (totals.skipped.get(reason) ?? 0) + 1);
}

async function run(args) {
  const startedAt = process.uptime();
  const child = spawn(process.execPath, [ava, color, ...args], { cwd: root, stdio: ['inherit', 'pipe', 'inherit'] });
  children.add(child);
  const found = { passed: 0, failed: 0, failures: [], skipped: [] };
  // Tests are shown as they end. The explanations of failures follow a line of their own and are kept together.
  let end;
  const silent = setTimeout(() => {
    console.log(`  Nothing for ${SILENT_MS / 1000} s: ended: ${args.join(' ')}`);
    child.kill('SIGINT');
    setTimeout(() => child.kill('SIGKILL'), 10_000).unref();
  }, SILENT_MS);
  createInterface({ input: child.stdout }).on('line', line => {
    silent.refresh();
    const plain = stripVTControlCharacters(line);
    if (plain === '  ─') end ??= [];
    if (end === undefined) {
      if (plain !== '') console.log(line);
    } else end.push(line);
    count(plain, line, found);
  });
  const code = await new Promise(resolve => child.on('close', resolve));
  clearTimeout(silent);
  children.delete(child);
  const name = args.length > 1 ? `${args[0]} and ${args.length - 1} more` : (args[0] ?? '');
  took.set(name, Math.round(process.uptime() - startedAt));
  if (end !== undefined && (code !== 0 || processes === 1)) console.log(end.join('\n'));
  return { ...found, failed: code === 0 ? 0 : Math.max(found.failed, 1), code: code ?? 1 };
}

function tellSlowest() {
  const slowest = [...took].sort(([, one], [, other]) => other - one).slice(0, SLOWEST);
  console.log(`  Longest: ${slowest.map(([name, seconds]) => `${name} ${seconds} s`).join(', ')}`);
}

// AVA marks each test, and says in its summary how many passed only when all did.
function count(plain, line, found) {
  if (/^ {2}[✔√] /.test(plain)) found.passed++;
  else if (/^ {2}[✘×] /.test(plain)) {
    found.failed++;
    found.failures.push(line);
  } else if (/^ {2}(\d+ tests were pending in|Failed to exit when running|◌) /.test(plain)) {
    // What a timeout or a signal has cut; the first of a file is the one that ran.
    found.failures.push(line);
  } else {
    const [, , reason] = /^ {2}- \[skip\] (.*?)(?: \[([^[\]]+)\])?$/.exec(plain) ?? [];
    if (plain.startsWith('  - [skip] ')) found.skipped.push(reason ?? 'no reason given');
    const [, number, what] =
      /^ {2}(\d+) (tests? passed|unhandled rejections?|uncaught exceptions?|tests? remained)/.exec(plain) ?? [];
    if (what?.endsWith('passed')) found.passed = Number(number);
    else if (what !== undefined) found.failed += Number(number);
  }
}
