/**
 * The configuration file of a function, `edgehost.toml`, and the modules that it names. Its keys and their values are declared in
 * `deploy/file-schema.ts`; everything else in a file is an error with its line. Files of the hosted platform are read by `wrangler/`.
 */
import { stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { REGISTRY } from '../../bindings/registry.js';
import { assetsOf } from '../../config-schema/asset-shapes.js';
import type { BindingShape } from '../../config-schema/binding-shapes.js';
import { describe } from '../../quotas/schema/describe.js';
import { leadsOut } from '../../storage/files/inside-folder.js';
import type { LoadOptions } from '../options/options.js';
import {
  bindingsOfFile,
  consumersOfFile,
  cronsOfFile,
  type FileTable,
  fileSchema,
  limitsOfFile,
  routesOfFile,
  rulesOfFile,
} from './file-schema.js';
import type { FunctionFile, ReadingOptions } from './function-file.js';
import { type ConfigReader, readerOf } from './reading/config-reader.js';
import { textOf, unreadable } from './reading/file-text.js';
import { mainModule } from './reading/main-module.js';
import { CONFIG_NAME, configurationIn, isWranglerFile } from './wrangler/find-file.js';
import { readWranglerFile } from './wrangler/read-wrangler-file.js';

/**
 * Reads a configuration file and the modules it names.
 *
 * @param path the file, or the folder that has one named `edgehost.toml`, `wrangler.json`, `wrangler.jsonc` or `wrangler.toml`
 * @throws EdgeError EDGE_CONFIG_INVALID with file, line and column; EDGE_SCRIPT_IMPORT; EDGE_SCRIPT_TOO_LARGE
 * @throws TypeError when the path is not a string
 */
export async function readFunctionFile(
  path: string,
  rows: readonly BindingShape[] = REGISTRY.named,
  reading: ReadingOptions = {},
): Promise<FunctionFile> {
  if (typeof path !== 'string') throw new TypeError(`The path of loadFile() is ${describe(path)}, expected a string`);
  const file = await fileOf(path);
  if (isWranglerFile(file)) return readWranglerFile(file, reading);
  const reader = readerOf(file, await textOf(file));
  const table = reader.check(fileSchema(rows));
  if (reading.environment !== undefined && reading.environment !== '')
    throw reader.error([], `The environment is "${reading.environment}", and ${CONFIG_NAME} has no environments`);
  const root = dirname(resolve(file));
  const options = optionsOf(reader, table, rows, root);
  const { main } = table;
  const { assets } = options;
  if (reading.isDevelopment !== true && typeof assets === 'object' && (await leadsOut(root, assets.directory)))
    throw reader.error(
      ['assets', 'directory'],
      `assets.directory names ${assets.directory}, which is outside of the folder of the file`,
    );
  if (main === undefined && table.assets === undefined)
    throw reader.error([], 'main is missing: write the path of the main module, or [assets] for static files alone');
  const source =
    main === undefined
      ? undefined
      : await mainModule({
          files: { root, main: resolve(root, main), rules: rulesOfFile(table) },
          written: main,
          collect: reading.collect,
          error: message => reader.error(['main'], message),
        });
  return { source, options, notes: [], inputs: [resolve(file)], migrations: [], requiredSecrets: [] };
}

function optionsOf(reader: ConfigReader, table: FileTable, rows: readonly BindingShape[], root: string): LoadOptions {
  if (table.route !== undefined && table.routes !== undefined) {
    throw reader.error(['route'], 'route and routes are both given; name every route in routes');
  }
  const { compatibility_date: compatibilityDate, compatibility_flags: compatibilityFlags, vars = {} } = table;
  return {
    name: table.name,
    ...(compatibilityDate !== undefined && { compatibilityDate }),
    ...(compatibilityFlags !== undefined && { compatibilityFlags }),
    routes: routesOfFile(table),
    ...bindingsOfFile(table, rows, (path, message) => reader.error(path, message)),
    vars,
    crons: cronsOfFile(table),
    ...(table.tail_consumers !== undefined && { tails: table.tail_consumers.map(({ service }) => service) }),
    ...(table.callers !== undefined && { callers: table.callers }),
    ...(table.assets !== undefined && { assets: assetsOf(table.assets, root) }),
    ...(table.egress !== undefined && { egress: table.egress }),
    ...(table.queues?.consumers !== undefined && { consumers: consumersOfFile(table) }),
    limits: limitsOfFile(table),
  };
}

/** The file itself, or the one of the folder. */
async function fileOf(path: string): Promise<string> {
  const info = await stat(path).catch((error: unknown) => {
    throw unreadable(path, error);
  });
  return info.isDirectory() ? ((await configurationIn(path)) ?? join(path, CONFIG_NAME)) : path;
}
