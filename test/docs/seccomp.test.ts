/** What docs/deploying.md adds to the seccomp profile of Docker, and what the start of a cell calls. */
import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { unlessMissing } from '../needs.js';
import { ROOT } from './markdown.js';

/** Refused by the default profile of Docker for a container without capabilities. It answers clone3 with ENOSYS, for which libraries take clone. */
const REFUSED: ReadonlySet<string> = new Set([
  ...[
    'acct',
    'add_key',
    'bpf',
    'clone',
    'delete_module',
    'fanotify_init',
    'finit_module',
    'fsconfig',
    'fsmount',
    'fsopen',
  ],
  ...[
    'fspick',
    'get_mempolicy',
    'init_module',
    'ioperm',
    'iopl',
    'kcmp',
    'kexec_load',
    'keyctl',
    'lookup_dcookie',
    'mbind',
  ],
  ...['mount', 'mount_setattr', 'move_mount', 'open_by_handle_at', 'open_tree', 'perf_event_open', 'pidfd_getfd'],
  ...[
    'pivot_root',
    'process_madvise',
    'quotactl',
    'reboot',
    'request_key',
    'set_mempolicy',
    'setdomainname',
    'sethostname',
  ],
  ...['setns', 'settimeofday', 'swapoff', 'swapon', 'syslog', 'umount', 'umount2', 'unshare', 'userfaultfd', 'vhangup'],
]);

const PROGRAM = `
import { EdgeHost } from ${JSON.stringify(`file://${join(ROOT, 'dist/src/index.js')}`)};
const host = new EdgeHost({ storage: ':memory:', spareIsolates: 0 });
await host.load('export default { fetch: () => new Response() }');
await host.close();`;

const missing = ['strace', 'bwrap'].find(program => spawnSync(program, ['--version']).status !== 0);

unlessMissing(missing)('the seccomp profile of docs/deploying.md allows what the start of a cell calls', async t => {
  const folder = await mkdtemp(join(tmpdir(), 'edgehost-seccomp-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const trace = join(folder, 'trace');
  const command = [process.execPath, '--input-type=module', '--eval', PROGRAM];
  await promisify(execFile)('strace', [
    '-f',
    '-qq',
    '-o',
    trace,
    '-e',
    `trace=${[...REFUSED].map(name => `?${name}`)}`,
    ...command,
  ]);
  const called = new Set([...(await readFile(trace, 'utf8')).matchAll(/^\d+ +(\w+)\(/gm)].map(([, name = '']) => name));
  t.true(called.has('pivot_root'), 'the trace has the start of a cell');
  const [, list = ''] =
    /^const names = (\[.*\]);$/m.exec(await readFile(join(ROOT, 'docs/deploying.md'), 'utf8')) ?? [];
  const allowed: string[] = JSON.parse(list.replaceAll("'", '"'));
  t.deepEqual([...called].filter(name => REFUSED.has(name) && !allowed.includes(name)).sort(), []);
});
