/** Removes everything that the management API keeps for an account. */
import { commit, type ManagementStorage, type RecordChange } from './records.js';
import { Stores } from './stores.js';

/**
 * Removes the tokens and the zones of an account, with the routes, DNS records and settings of those; with `deleteData` its functions and its audit log, too.
 * All or nothing, in one batch.
 */
export async function removeAccountRecords(
  storage: ManagementStorage,
  account: string,
  deleteData: boolean,
): Promise<void> {
  const stores = new Stores(storage);
  const operations: RecordChange[] = await stores.functionRoutes.delBelow(account);
  for await (const token of stores.tokens.below()) {
    if (token.account === account) operations.push(stores.tokens.del(token.id));
  }
  for await (const zone of stores.zones.below()) {
    if (zone.account !== account) continue;
    operations.push(stores.zones.del(zone.id), stores.zoneNames.del(zone.name), stores.dnsSettings.del(zone.id));
    const ofZone = [stores.dnsRecords, stores.dnsNames, stores.zoneSettings, stores.routes, stores.routePatterns];
    for (const records of ofZone) operations.push(...(await records.delBelow(zone.id)));
  }
  if (deleteData) {
    const ofAccount = [
      stores.functions,
      stores.versions,
      stores.deployments,
      stores.secrets,
      stores.contents,
      stores.audit,
    ];
    for (const records of ofAccount) operations.push(...(await records.delBelow(account)));
  }
  if (operations.length > 0) await commit(storage, operations);
}
