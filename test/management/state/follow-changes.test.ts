/** What one application puts into force of what another has written, when it finds out about all of it at once. */
import test from 'ava';
import { MemoryLevel } from 'memory-level';
import { NameOwners } from '../../../src/hostnames/name-owners.js';
import { compilePattern } from '../../../src/hostnames/route-pattern.js';
import { FollowChanges } from '../../../src/management/state/follow-changes.js';
import type { FunctionStore } from '../../../src/management/state/function-store.js';
import { commit, type RecordChange } from '../../../src/management/state/records.js';
import { ServingFunctions } from '../../../src/management/state/serving-functions.js';
import { Stores, type ZoneRecord } from '../../../src/management/state/stores.js';
import { ZoneOwners } from '../../../src/management/zone-owners.js';

const CREATED = { approved_by: 'callback', created_on: '2026-11-01', modified_on: '2026-11-01' } as const;
const ROUTE = compilePattern('shop.example.com/*');

test('a zone that has changed hands while nothing was heard is that of who has it now, whichever comes first', async t => {
  for (const [before, after] of [
    ['a', 'b'],
    ['b', 'a'],
  ] as const) {
    const stores = new Stores(new MemoryLevel());
    const names = new NameOwners({ onChange: () => {}, onInactive: () => {} });
    const warnings: string[] = [];
    const onWarning = ({ message }: Error): void => void warnings.push(message);
    const zoneOwners = new ZoneOwners(names, undefined, onWarning);
    const port = { remove: async () => names.removeRoute(ROUTE), activate: async () => ({ startupTimeMs: 0 }) };
    const serving = new ServingFunctions({ ...port, setTriggers: async () => {} });
    const follow = new FollowChanges({
      stores,
      serving,
      zoneOwners,
      functionStore: { locked: (_account: string, _name: string, work: () => unknown) => work() } as FunctionStore,
      compression: { restoreZone: async () => {} } as never,
      hasAccount: async () => true,
      onWarning,
    });
    const zone = (id: string, account: string, name: string): RecordChange => {
      const record: ZoneRecord = { id, account, name, ...CREATED };
      return stores.zones.put([id], record).operation;
    };
    await commit(stores.storage, [zone(before, 'first', 'example.com'), zone('c', 'first', 'example.org')]);
    await zoneOwners.claimStored(stores);
    await follow.start();
    await serving.activate({
      account: 'first',
      name: 'shop',
      secrets: new Map(),
      triggers: { routes: [], crons: [] },
    } as never);
    names.addRoute('first', 'shop', ROUTE);
    // Meanwhile: the first account has given up one zone with its function, and has made the other anew.
    await commit(stores.storage, [
      stores.zones.del(before),
      zone(after, 'second', 'example.com'),
      stores.zones.del('c'),
      zone('d', 'first', 'example.org'),
    ]);
    await follow.changed(undefined);
    t.is(names.ownerOf('shop.example.com'), 'second');
    t.is(names.ownerOf('example.org'), 'first');
    t.deepEqual(warnings, []);
  }
});
