/** How calls of SQL databases are answered that are administered beside functions. */

import type { SqlDirectory, SqlEngine } from '../../../bindings/sql/engine.js';
import { SqlError } from '../../../bindings/sql/errors.js';
import type { BodyCalls, CallArguments, NamedAddress, ValueCalls } from '../calls.js';
import { packHead } from '../packets.js';
import type { ServedCall } from './served-call.js';
import type { ServedObjects } from './served-objects.js';
import type { ValueHandlers } from './value-handlers.js';

type DatabaseCall = Extract<keyof ValueCalls, `sql.${string}`>;
type BodyName = Extract<keyof BodyCalls, `sql.${string}`>;
export type DatabaseBodyCall = { readonly [Name in BodyName]: readonly [Name, ...CallArguments<Name>] }[BodyName];

export const DATABASE_CALLS: ReadonlySet<string> = new Set<BodyName>([
  'sql.export',
  'sql.backup',
  'sql.import',
  'sql.restore',
]);
const NOTHING = new Uint8Array(0);

export function databaseHandlers(objects: ServedObjects): Pick<ValueHandlers, DatabaseCall> {
  const of = (account: string): SqlDirectory => objects.directories.databases(account);
  const at = (address: NamedAddress): Promise<SqlEngine> => databaseAt(objects, address);
  return {
    'sql.open': async ({ account, name }, bounds) => void (await of(account).open(name, bounds)),
    'sql.exists': async ({ account, name }) => (await of(account).find(name)) !== null,
    'sql.create': async ({ account, name }, bounds) => (await of(account).create(name, bounds)).created,
    'sql.remove': async ({ account, name }) => void (await of(account).delete(name)),
    'sql.list': account => of(account).list(),
    'sql.migrate': async (address, name, sql, bounds) => (await at(address)).migrate(name, sql, bounds),
    'sql.migrations': async address => (await at(address)).migrations(),
  };
}

export async function answerDatabaseCall(
  call: ServedCall,
  request: DatabaseBodyCall,
  objects: ServedObjects,
): Promise<void> {
  const database = await databaseAt(objects, request[1]);
  const body = call.body ?? NOTHING;
  switch (request[0]) {
    case 'sql.export':
      call.replyWithBody(packHead(undefined), database.export());
      return;
    case 'sql.backup':
      call.replyWithBody(packHead(undefined), database.backup());
      return;
    case 'sql.import':
      call.replyValue(await database.import(body, request[2]));
      return;
    case 'sql.restore':
      await database.restore(body, request[2]);
      call.replyValue(undefined);
  }
}

/** Rejects with 30002 when there is none of the name. */
async function databaseAt({ directories }: ServedObjects, { account, name }: NamedAddress): Promise<SqlEngine> {
  const database = await directories.databases(account).find(name);
  if (database === null) throw new SqlError(30002, `There is no SQL database ${JSON.stringify(name.slice(0, 100))}`);
  return database;
}
