import test from 'ava';
import { readDeployment } from '../../../src/host/deploy/deployment.js';
import { scanModules } from '../../../src/host/deploy/scan-modules.js';

function shareOf() {
  const seen = { charges: 0, turns: 0, held: 0, most: 0 };
  return {
    seen,
    bytes: {
      countHeap(bytes: number) {
        seen.held += bytes;
        seen.most = Math.max(seen.most, seen.held);
      },
    },
    charge(ms: number) {
      if (ms >= 0) seen.charges++;
    },
    turn() {
      seen.turns++;
      return undefined;
    },
  };
}

test('scanModules() tells of scripts and modules how they use import(), and of nothing else', async t => {
  const modules = {
    'a.js': 'import("./b.js"); f("import(x)"); import.meta',
    'b.js': 'export default 1',
    'c.txt': 'import(x)',
    'd.bin': new TextEncoder().encode('import(x)'),
    'e.js': { type: 'script', source: 'f("import(x)")' },
    'f.js': 'x = /import(x)/',
  } as const;
  const scanned = await scanModules(readDeployment({ main: 'a.js', modules }, 'f'), shareOf());
  t.deepEqual(
    scanned.map(({ name, imports }) => [name, imports]),
    [
      ['a.js', 'ctm'],
      ['b.js', undefined],
      ['c.txt', undefined],
      ['d.bin', undefined],
      ['e.js', 't'],
      ['f.js', undefined],
    ],
  );
});

test('scanModules() charges the account, lets others go first and holds nothing afterwards', async t => {
  const share = shareOf();
  const source = `${'f(x);'.repeat(200_000)}export default import("x")`;
  const [module] = await scanModules(readDeployment(source, 'f'), share);
  t.is(module?.imports, 'c');
  t.deepEqual(share.seen, { charges: 4, turns: 3, held: 0, most: 2 * source.length });
});
