/** A Linux on which /proc is not mounted: containers may hide it. */
import { execFile, spawnSync } from 'node:child_process';
import { basename, dirname } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { findConfine, landlockAbi } from '../../src/pool/sandbox/confine.js';
import { unlessMissing } from '../needs.js';

const PROGRAM = fileURLToPath(new URL('./programs/hidden-proc.js', import.meta.url));
const HIDING = ['--mount', '--map-root-user', 'sh', '-c', 'mount -t tmpfs none /proc && exec "$@"', 'sh'];

const canHide = spawnSync('unshare', [...HIDING, 'true']).status === 0;
const { path: confine } = findConfine();
const hasLandlock = confine !== undefined && (await landlockAbi(confine)) > 0;
const withHiddenProc = unlessMissing(canHide ? undefined : 'no right to hide /proc');

for (const sandbox of ['auto', 'off']) {
  withHiddenProc(
    `CPU and memory limits hold where /proc is hidden, and the host says so (sandbox ${sandbox})`,
    async t => {
      t.timeout(120_000);
      // By its name alone: without /proc Node does not know its own path.
      const env = { PATH: `${dirname(process.execPath)}:${process.env.PATH}` };
      const command = [...HIDING, basename(process.execPath), PROGRAM, sandbox];
      const { stdout } = await promisify(execFile)('unshare', command, { env });
      const { warnings, missing, landlock, ...found } = JSON.parse(stdout);
      t.deepEqual(found, {
        before: 'fine',
        loop: 'EDGE_CPU_LIMIT',
        hoard: 'EDGE_MEMORY_LIMIT',
        after: ['fine', 'fine'],
      });
      t.is(
        warnings.filter((text: string) => /The cells are not watched, because \/proc is not mounted/.test(text)).length,
        1,
      );
      if (sandbox !== 'auto') return;
      t.deepEqual(missing, ['/proc is not mounted']);
      t.is(landlock, hasLandlock);
    },
  );
}
