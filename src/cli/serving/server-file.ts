/** The configuration file of `edgehost serve`: a host, and its accounts with their functions. Every mistake in it is an error with its line. */
import { dirname, resolve } from 'node:path';
import { NAME } from '../../config-schema/function-shapes.js';
import { FILE_ROUTE, limitsOfFile, routesOfFile } from '../../host/deploy/file-schema.js';
import { type ConfigReader, readerOf } from '../../host/deploy/reading/config-reader.js';
import { textOf } from '../../host/deploy/reading/file-text.js';
import type { EdgeHostOptions } from '../../host/options/host-options.js';
import type { AccountOptions, RouteOptions } from '../../host/options/options.js';
import type { EdgeError } from '../../quotas/errors.js';
import { limitsSchema, snakeCase } from '../../quotas/limit-schema.js';
import { PLANS, ZONE_PLANS } from '../../quotas/limits.js';
import { choice, flag, list, type ObjectOf, object, text, union, wholeNumber } from '../../quotas/schema/schema.js';

const FUNCTION = object({
  path: text({ minLength: 1 }),
  'name?': NAME,
  'routes?': list(FILE_ROUTE),
  'env_file?': text({ minLength: 1 }),
  'environment?': text({ minLength: 1 }),
});

const ACCOUNT = object({
  id: NAME,
  'plan?': choice(PLANS),
  'zone_plan?': choice(ZONE_PLANS),
  'zones?': list(text()),
  'limits?': limitsSchema(snakeCase),
  functions: list(
    union([text({ minLength: 1 }), FUNCTION], {
      description: 'a path, or a table of path, name, routes, env_file and environment',
    }),
    { minItems: 1 },
  ),
});

const FIELDS = {
  'host?': text({ minLength: 1 }),
  'port?': wholeNumber(0, 65_535),
  'storage?': text({ minLength: 1 }),
  'plan?': choice(PLANS),
  'zone_plan?': choice(ZONE_PLANS),
  'limits?': limitsSchema(snakeCase),
  'sandbox?': choice(['auto', 'strict', 'off']),
  'trust_proxy?': flag(),
  'log_requests?': flag(),
  'drain_ms?': wholeNumber(0, 3_600_000, 'ms'),
  'egress?': object({ 'allow?': list(text()), 'deny?': list(text()) }),
  accounts: list(ACCOUNT, { minItems: 1 }),
};

const FILE = object(FIELDS);
type FileTable = ObjectOf<typeof FIELDS>;
type Account = FileTable['accounts'][number];

const DEFAULT_PORT = 8080;
const DEFAULT_DRAIN_MS = 10_000;

export interface ServerFunction {
  /** Absolute: a script, a configuration file, or a folder of functions. */
  readonly path: string;
  readonly name: string | undefined;
  /** @default the routes of its own configuration */
  readonly routes: readonly RouteOptions[] | undefined;
  readonly envFile: string | undefined;
  /** The environment of its own configuration. @default its top level */
  readonly environment: string | undefined;
  /** An error at its place in the file. */
  readonly error: (message: string) => EdgeError;
}

export interface ServerAccount {
  readonly id: string;
  readonly options: AccountOptions;
  readonly functions: readonly ServerFunction[];
  readonly error: (message: string) => EdgeError;
}

export interface ServerFile {
  readonly host: string;
  readonly port: number;
  readonly trustProxy: boolean;
  readonly logRequests: boolean;
  readonly drainMs: number;
  readonly hostOptions: EdgeHostOptions;
  readonly accounts: readonly ServerAccount[];
}

/** @throws EdgeError EDGE_CONFIG_INVALID with file, line and column */
export async function readServerFile(path: string): Promise<ServerFile> {
  const reader = readerOf(path, await textOf(path));
  const table = reader.check(FILE);
  checkIds(reader, table.accounts);
  const folder = dirname(resolve(path));
  const { storage = '.edgehost', plan, zone_plan: zonePlan, limits, sandbox, egress } = table;
  return {
    host: table.host ?? '127.0.0.1',
    port: table.port ?? DEFAULT_PORT,
    trustProxy: table.trust_proxy === true,
    logRequests: table.log_requests === true,
    drainMs: table.drain_ms ?? DEFAULT_DRAIN_MS,
    hostOptions: {
      storage: storage === ':memory:' ? storage : resolve(folder, storage),
      ...(plan !== undefined && { plan }),
      ...(zonePlan !== undefined && { zonePlan }),
      ...(limits !== undefined && { limits: limitsOfFile({ limits }) }),
      ...(sandbox !== undefined && { sandbox }),
      ...(egress !== undefined && { egress }),
    },
    accounts: table.accounts.map((account, index) => accountOf(reader, folder, account, index)),
  };
}

function checkIds(reader: ConfigReader, accounts: readonly Account[]): void {
  const seen = new Set<string>();
  for (const [index, { id }] of accounts.entries()) {
    if (seen.has(id))
      throw reader.error(['accounts', index, 'id'], `accounts[${index}].id is "${id}", which another account has`);
    seen.add(id);
  }
}

function accountOf(reader: ConfigReader, folder: string, account: Account, index: number): ServerAccount {
  const { id, plan, zone_plan: zonePlan, zones, limits, functions } = account;
  return {
    id,
    options: {
      ...(plan !== undefined && { plan }),
      ...(zonePlan !== undefined && { zonePlan }),
      ...(zones !== undefined && { zones }),
      ...(limits !== undefined && { limits: limitsOfFile({ limits }) }),
    },
    functions: functions.map((given, at) => {
      const each = typeof given === 'string' ? { path: given } : given;
      const {
        path,
        name,
        routes,
        env_file: envFile,
        environment,
      } = { name: undefined, routes: undefined, env_file: undefined, environment: undefined, ...each };
      return {
        path: resolve(folder, path),
        name,
        routes: routes === undefined ? undefined : routesOfFile({ routes }),
        envFile: envFile === undefined ? undefined : resolve(folder, envFile),
        environment,
        error: message => reader.error(['accounts', index, 'functions', at], message),
      };
    }),
    error: message => reader.error(['accounts', index, 'id'], message),
  };
}

/** Whether a configuration file is one of a server, and not one of a function. Text that is not TOML is neither. */
export async function isServerFile(path: string): Promise<boolean> {
  return /^\s*(?:\[\[\s*accounts\s*\]\]|accounts\s*=)/m.test(await textOf(path));
}
