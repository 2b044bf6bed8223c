/** The option `sandbox`, and what a host says of it. */
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, cpSync, existsSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { EdgeHost } from '../../../src/index.js';
import { unlessMissing } from '../../needs.js';
import { handler, newHost, textOf } from '../new-host.js';

const FINE = handler('return new Response("fine")');

for (const [what, value, message] of [
  ['an unknown mode', 'loose', /is the string "loose", expected one of 'auto', 'strict', 'off', or \{ command/],
  ['a number', 1, /Option sandbox of new EdgeHost\(\) is the number 1/],
  ['an array', ['runsc'], /Option sandbox of new EdgeHost\(\) is an array/],
  [
    'another part',
    { command: ['runsc'], mode: 'auto' },
    /Option sandbox of new EdgeHost\(\) has no key "mode"; its keys are command/,
  ],
  ['no command', {}, /sandbox\.command of new EdgeHost\(\) is missing, expected an array/],
  ['an empty command', { command: [] }, /is an array of 0, expected an array of a program/],
  ['a command that is a text', { command: 'runsc do' }, /is the string "runsc do", expected an array/],
  [
    'an empty part',
    { command: ['runsc', ''] },
    /Option sandbox\.command\[1\] of new EdgeHost\(\) is the string "", expected a string that is not empty/,
  ],
  ['a part that is no text', { command: ['runsc', 1] }, /command\[1\] .* is the number 1/],
  ['a part with a zero', { command: ['run\0sc'] }, /command\[0\]/],
  [
    'a relative path',
    { command: ['./runsc'] },
    /expected an array of a program, by an absolute path or a name in PATH, .* \("\.\/runsc" is a relative path\)/,
  ],
] as const) {
  test(`new EdgeHost() refuses ${what} as sandbox`, t => {
    // What TypeScript refuses as well.
    t.throws(() => Reflect.construct(EdgeHost, [{ storage: ':memory:', sandbox: value }]), {
      instanceOf: TypeError,
      message,
    });
  });
}

test('load() rejects with EDGE_SANDBOX when the program of sandbox.command is not there', async t => {
  for (const program of ['/nowhere/edgehost-runtime', 'edgehost-runtime-that-is-nowhere']) {
    const host = newHost(t, { sandbox: { command: [program, 'run'] } });
    await t.throwsAsync(host.load(FINE), { code: 'EDGE_SANDBOX', message: new RegExp(`the program "${program}"`) });
  }
});

const withEnv = unlessMissing(existsSync('/usr/bin/env') ? undefined : 'no /usr/bin/env');
withEnv(
  'functions run behind a command of the owner, with its sockets and buckets, and host.health() says so',
  async t => {
    const host = newHost(t, { sandbox: { command: ['/usr/bin/env', 'OWN=1'] } });
    const fn = await host.load(
      handler('await env.FILES.put("a", "stored"); return new Response(await (await env.FILES.get("a")).text())'),
      { buckets: { FILES: 'files' } },
    );
    t.is(await textOf(fn.fetch('http://x/')), 'stored');
    const { sandbox, cells } = host.health();
    t.is(sandbox?.mode, 'custom');
    t.false(sandbox?.root);
    t.regex(sandbox?.separation ?? '', /decided by "\/usr\/bin\/env"/);
    const pid = cells[0]?.pid ?? 0;
    t.notThrows(() => process.kill(pid, 0));
    await host.close();
    t.throws(() => process.kill(pid, 0), { code: 'ESRCH' });
  },
);

withEnv('a cell behind a command that waits for it is found, and ended with it', async t => {
  const host = newHost(t, { sandbox: { command: ['/bin/sh', '-c', '"$@"; exit', 'sh'] } });
  const fn = await host.load(FINE);
  t.is(await textOf(fn.fetch('http://x/')), 'fine');
  const [cell] = host.health().cells;
  t.true((cell?.residentBytes ?? 0) > 20 * 1024 * 1024, 'the memory of Node, not of a shell');
  await host.close();
  t.throws(() => process.kill(cell?.pid ?? 0, 0), { code: 'ESRCH' });
});

test("a host says once by a warning what its cells' sandbox lacks, and nothing when it is complete", async t => {
  const host = newHost(t);
  const warnings: Error[] = [];
  host.on('warning', error => warnings.push(error));
  for (const account of ['a', 'b']) await host.account(account).load(FINE);
  const { sandbox } = host.health();
  const isComplete = sandbox === undefined || sandbox.missing.length === 0 || process.platform !== 'linux';
  t.is(warnings.length, isComplete ? 0 : 1);
  if (isComplete) return;
  t.regex(warnings[0]?.message ?? '', /^The sandbox of cells is incomplete\. /);
  t.true(warnings[0]?.message.includes(sandbox.separation));
});

const setpriv = ['/usr/bin/setpriv', '/bin/setpriv'].find(path => existsSync(path));
const asRoot = unlessMissing(process.geteuid?.() !== 0 ? 'not root' : setpriv === undefined ? 'no setpriv' : undefined);
asRoot('the host of an ordinary user serves functions, and warns of what its user lacks', t => {
  const program = fileURLToPath(new URL('../programs/warns.js', import.meta.url));
  const drop = ['--reuid=65534', '--regid=65534', '--clear-groups', process.execPath, program];
  const { stdout, stderr } = spawnSync(setpriv ?? '', drop, { env: {}, cwd: '/' });
  if (stdout.length === 0 && /EACCES|Permission denied|Cannot find module/.test(String(stderr))) {
    t.log(`unavailable here: ${String(stderr).slice(0, 200)}`);
    return t.pass();
  }
  const { warnings, answers, sandbox } = JSON.parse(String(stdout));
  t.deepEqual(answers, ['fine', 'fine']);
  t.false(sandbox.ownUser);
  t.is(warnings.length, 1, warnings.join('\n'));
  t.true(
    warnings[0].startsWith(
      `EDGE_SANDBOX The sandbox of cells does not separate accounts. ${sandbox.separation} Missing: `,
    ),
  );
  t.regex(warnings[0], /\/etc\/subuid/);
});

asRoot("a package that other users may not read: cells have the application's user, and the host says so", t => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'edgehost-private-')));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const root = fileURLToPath(new URL('../../../../', import.meta.url));
  cpSync(join(root, 'package.json'), join(folder, 'package.json'));
  cpSync(join(root, 'dist/src'), join(folder, 'dist/src'), { recursive: true });
  symlinkSync(realpathSync(join(root, 'node_modules')), join(folder, 'node_modules'));
  chmodSync(join(folder, 'dist/src'), 0o700);
  const run = (mode: 'auto' | 'strict') => {
    const program = `
      import { EdgeHost } from ${JSON.stringify(join(folder, 'dist/src/index.js'))};
      const host = new EdgeHost({ storage: ':memory:', sandbox: '${mode}' });
      const warnings = [];
      host.on('warning', error => warnings.push(error.message));
      const load = account => host.account(account).load('export default { fetch: () => new Response("fine") }');
      const answer = account => load(account).then(async fn => (await fn.fetch('http://x/')).text(), error => error.code);
      const answers = await Promise.all(['a', 'b'].map(answer));
      process.stdout.write(JSON.stringify({ answers, warnings, sandbox: host.health().sandbox ?? null }));
      await host.close();`;
    const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', program]);
    return JSON.parse(String(stdout) || JSON.stringify(String(stderr)));
  };
  // Node itself starts behind the best wall, and the first cell behind it does not.
  const { answers, warnings, sandbox } = run('auto');
  t.deepEqual(answers, ['fine', 'fine']);
  t.like(sandbox, { ownUser: false, separated: false });
  t.is(warnings.length, 1);
  t.regex(sandbox.missing.join(), /other users the right to read this package/);
  t.deepEqual(run('strict').answers, ['EDGE_SANDBOX', 'EDGE_SANDBOX']);
});

test("a host with sandbox: 'off' does not warn: its owner knows", async t => {
  const host = newHost(t, { sandbox: 'off' });
  const warned = once(host, 'warning');
  await host.load(FINE);
  host.emit('warning', new Error('of the test'));
  const [warning] = await warned;
  t.is(warning.message, 'of the test');
});
