/** The attacks of the benchmarks are text until they run: that they are programs, and that each has a name of its own. */
import test from 'ava';
import {
  HIJACKED_HOARDS,
  HOARDS,
  sourceOf as hoardSource,
  NATIVE_HOARDS,
} from '../../benchmarks/containment/hoards.js';
import { attacksOf } from '../../benchmarks/neighbours/attacks.js';
import { FLOODS, PROGRAMS, sourceOf } from '../../benchmarks/neighbours/programs.js';
import { containment } from '../../benchmarks/suites/containment.js';
import { neighbours } from '../../benchmarks/suites/neighbours.js';
import { EdgeHost } from '../../src/index.js';

test('attacksOf() gives each program on each of its plans, and floods once', t => {
  const attacks = attacksOf(['keys', 'forward', 'notes', 'unknown']);
  t.deepEqual(
    attacks.map(({ name, plan, isFlood }) => `${name} ${plan} ${isFlood}`),
    ['forward free false', 'keys free false', 'keys standard false', 'notes standard true'],
  );
});

test('every attack can be chosen by a name of its own', t => {
  const played = [PROGRAMS, FLOODS].flatMap(table => table.map(({ name }) => name));
  t.deepEqual(neighbours.programs?.slice(1), played);
  t.is(new Set(played).size, played.length);
  const hoards = [HOARDS, HIJACKED_HOARDS, NATIVE_HOARDS].flatMap(table => table.map(({ name }) => name));
  t.deepEqual(containment.programs?.slice(1), hoards);
  t.is(new Set(hoards).size, hoards.length);
});

test('every function of an offender or a hoarder loads, and answers at once when it is only started', async t => {
  const host = new EdgeHost({ storage: ':memory:', spareIsolates: 0, warmCells: 0 });
  t.teardown(() => host.close({ drainMs: 0 }));
  const sources = [...PROGRAMS.map(sourceOf), ...HOARDS.map(hoardSource)];
  for (const [at, source] of sources.entries()) {
    const fn = await host.load(source, { name: `function-${at}`, buckets: { FILES: 'files' } });
    t.is((await fn.fetch('http://x/')).status, 200);
    fn.unload();
  }
});
