import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { descriptorLimit, taskLimits } from '../../../src/quotas/host/system-limits.js';
import { onLinux } from '../../needs.js';

const LIMITS = `Limit                     Soft Limit           Hard Limit           Units
Max processes             4000                 5000                 processes
Max open files            1024                 524288               files
`;

/** A folder with these files, in which `@` is its own path. */
function folderWith(t: ExecutionContext, files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'edgehost-limits-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text.replaceAll('@', folder));
  }
  return folder;
}

function limitsIn(folder: string, uid = 0) {
  return taskLimits({ proc: join(folder, 'proc'), uid }).map(({ name, limit, used }) => [
    name.replace(folder, ''),
    limit,
    used(),
  ]);
}

test('descriptorLimit() is the soft limit, and none when there is none', t => {
  const folder = folderWith(t, { 'proc/self/limits': LIMITS, 'proc/7/limits': LIMITS.replace('1024', 'unlimited') });
  const places = { proc: join(folder, 'proc'), uid: 0 };
  t.is(descriptorLimit('self', places)?.limit, 1024);
  t.is(descriptorLimit(7, places), undefined);
  t.is(descriptorLimit(8, places), undefined);
});

onLinux('descriptorLimit() counts what this process has open', t => {
  const used = descriptorLimit()?.used() ?? 0;
  t.true(used > 3 && used < 1000, String(used));
});

test('taskLimits() has the groups of version 2 from that of the process up to the mount', t => {
  const folder = folderWith(t, {
    'proc/self/cgroup': '0::/app.slice/a.service\n',
    'proc/self/mountinfo': '30 23 0:26 / @/cgroup rw,nosuid - cgroup2 cgroup2 rw\n',
    'cgroup/app.slice/pids.max': '500\n',
    'cgroup/app.slice/pids.current': '120\n',
    'cgroup/app.slice/a.service/pids.max': 'max\n',
    'cgroup/app.slice/a.service/pids.current': '20\n',
  });
  t.deepEqual(limitsIn(folder), [['pids.max of /cgroup/app.slice', 500, 120]]);
});

test('taskLimits() has the group of version 1, where that has the controller pids', t => {
  const folder = folderWith(t, {
    'proc/self/cgroup': '9:name=systemd:/x\n8:pids:/docker/abc\n0::/\n',
    'proc/self/mountinfo': [
      '30 23 0:26 / @/unified rw - cgroup2 cgroup2 rw',
      '31 23 0:27 /docker/abc @/pids rw - cgroup cgroup rw,pids',
      '',
    ].join('\n'),
    'unified/pids.max': '9\n',
    'pids/pids.max': '150\n',
    'pids/pids.current': '11\n',
  });
  t.deepEqual(limitsIn(folder), [['pids.max of /pids', 150, 11]]);
});

test('taskLimits() has the limit of the user, unless that is root', t => {
  const folder = folderWith(t, { 'proc/self/limits': LIMITS });
  t.deepEqual(limitsIn(folder), []);
  t.deepEqual(limitsIn(folder, 1000), [['RLIMIT_NPROC', 4000, 0]]);
});
