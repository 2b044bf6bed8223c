import test from 'ava';
import { OomAttribution } from '../../../src/pool/host/oom-attribution.js';

test('culprits() names the leases in a long turn, and not those that were merely busy', t => {
  const suspects = new OomAttribution(() => 0);
  suspects.longTurn(2, true);
  suspects.longTurn(3, true);
  suspects.longTurn(3, false);
  t.deepEqual([...suspects.culprits([1, 2, 3])], [2]);
});

test('culprits() names nobody when a thread that used too much was ended just before', t => {
  let now = 0;
  const suspects = new OomAttribution(() => now);
  suspects.leaseEnded(7, 'memory');
  now += 1000;
  t.deepEqual([...suspects.culprits([1, 2])], []);
  now += 10_000;
  t.deepEqual([...suspects.culprits([1, 2])], [1, 2]);
});

test('culprits() names all that were busy when nothing tells them apart', t => {
  const suspects = new OomAttribution(() => 0);
  suspects.leaseEnded(7, 'closed');
  t.deepEqual([...suspects.culprits([1, 2])], [1, 2]);
});

test('culprits() forgets the long turn of a lease that has ended', t => {
  const suspects = new OomAttribution(() => 0);
  suspects.longTurn(2, true);
  suspects.leaseEnded(2, 'failed');
  t.deepEqual([...suspects.culprits([1])], [1]);
});
