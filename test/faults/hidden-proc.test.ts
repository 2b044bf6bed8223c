/** A Linux on which /proc is not mounted: containers may hide it. */
import { execFile, spawnSync } from 'node:child_process';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { unlessMissing } from '../needs.js';

const PROGRAM = fileURLToPath(new URL('./programs/hidden-proc.js', import.meta.url));
const HIDING = ['--mount', '--map-root-user', 'sh', '-c', 'mount -t tmpfs none /proc && exec "$@"', 'sh'];

const canHide = spawnSync('unshare', [...HIDING, 'true']).status === 0;
const withHiddenProc = unlessMissing(canHide ? undefined : 'no right to hide /proc');

for (const sandbox of ['auto', 'off']) {
  withHiddenProc(
    `CPU and memory limits hold where /proc is hidden, and the host says so (sandbox ${sandbox})`,
    async t => {
      t.timeout(120_000);
      const { stdout } = await promisify(execFile)('unshare', [...HIDING, process.execPath, PROGRAM, sandbox]);
      const { warnings, missing, ...found } = JSON.parse(stdout);
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
      if (sandbox === 'auto') t.deepEqual(missing, ['/proc is not mounted']);
    },
  );
}
