/** Makes the accounts of a server's configuration file, and loads or checks their functions. */

import PQueue from 'p-queue';
import type { Account } from '../../host/account.js';
import { ReadableFolders } from '../../host/deploy/bundle/readable-folders.js';
import type { EdgeHost } from '../../host/edge-host.js';
import { messageOf } from '../../quotas/errors.js';
import { readEnvFile, withEnv } from '../functions/env-file.js';
import { type FunctionPlace, findFunctions } from '../functions/find-functions.js';
import { FunctionSource, type ReadFunction } from '../functions/function-source.js';
import type { ServerAccount, ServerFunction } from './server-file.js';

/** A function, read and with the options that it is to have. */
export interface AccountFunction {
  readonly account: Account;
  readonly place: FunctionPlace;
  readonly read: ReadFunction;
}

export interface LoadFailure {
  readonly account: string;
  readonly function: string;
  readonly error: unknown;
}

/** Cells that start at once: each is a process. */
const CONCURRENCY = 4;

/**
 * Reads every function of the accounts and hands it to `load`, several accounts at a time, the functions of one in their order.
 *
 * @returns what failed; everything else has been loaded
 */
export async function forEachFunction(
  host: EdgeHost,
  accounts: readonly ServerAccount[],
  load: (loaded: AccountFunction) => Promise<void>,
): Promise<readonly LoadFailure[]> {
  const failures: LoadFailure[] = [];
  const queue = new PQueue({ concurrency: CONCURRENCY });
  const attempt = async (account: string, name: string, work: () => Promise<void>): Promise<void> => {
    try {
      await work();
    } catch (error) {
      failures.push({ account, function: name, error });
    }
  };
  const loadAll = async (configured: ServerAccount, account: Account): Promise<void> => {
    for (const each of configured.functions) {
      await attempt(configured.id, each.name ?? each.path, async () => {
        for (const place of await placesOf(each))
          await attempt(configured.id, place.name, () => loadOne(account, each, place, load));
      });
    }
  };
  await queue.addAll(
    accounts.map(
      configured => () => attempt(configured.id, '', async () => loadAll(configured, makeAccount(host, configured))),
    ),
  );
  return failures;
}

/** @throws EdgeError with the account's place in the file */
function makeAccount(host: EdgeHost, { id, options, error }: ServerAccount): Account {
  try {
    return host.account(id, options);
  } catch (cause) {
    throw error(messageOf(cause));
  }
}

async function placesOf({ path, name, routes, error }: ServerFunction): Promise<readonly FunctionPlace[]> {
  const { places } = await findFunctions(path).catch((cause: unknown) => {
    throw error(messageOf(cause));
  });
  // A customer's folder may contain links to folders of other customers.
  const readable = new ReadableFolders(path);
  for (const { file } of places) {
    const refusal = file === path ? undefined : await readable.refusal(file);
    if (refusal !== undefined) throw error(refusal);
  }
  if (places.length > 1 && (name !== undefined || routes !== undefined))
    throw error(`${path} has ${places.length} functions: name and routes are for one`);
  return places;
}

async function loadOne(
  account: Account,
  { name, routes, envFile, environment }: ServerFunction,
  place: FunctionPlace,
  load: (loaded: AccountFunction) => Promise<void>,
): Promise<void> {
  const source = new FunctionSource(place, { mode: 'production', environment });
  try {
    const read = await source.read();
    const given = { ...read.options, ...(name !== undefined && { name }), ...(routes !== undefined && { routes }) };
    const options = withEnv(given, envFile === undefined ? {} : await readEnvFile(envFile));
    await load({ account, place, read: { ...read, options } });
  } finally {
    await source.dispose();
  }
}
