/** Reads a configuration file of the hosted platform: `wrangler.toml`, `wrangler.json` or `wrangler.jsonc`. */
import { basename, dirname, join, resolve } from 'node:path';
import { assetsOf } from '../../../config-schema/asset-shapes.js';
import type { EdgeError } from '../../../quotas/errors.js';
import { complaintsAbout } from '../../../quotas/schema/check.js';
import { dotted } from '../../../quotas/schema/complaint.js';
import { nearestName } from '../../../quotas/schema/nearest-name.js';
import { leadsOut } from '../../../storage/files/inside-folder.js';
import type { FunctionFile, ReadingOptions } from '../function-file.js';
import { type ConfigReader, readerOf, textOfComplaint, throwAll } from '../reading/config-reader.js';
import { textOf } from '../reading/file-text.js';
import { mainModule } from '../reading/main-module.js';
import { type EnvironmentTable, environmentOf } from './environment.js';
import { redirectedFile } from './find-file.js';
import { localVariables } from './local-variables.js';
import { migrationsOf } from './migration-files.js';
import { additionalModules, buildOf, bundlingOf, rulesOf, uselessRules } from './module-settings.js';
import { WRANGLER_SCHEMA, type WranglerTable } from './schema.js';
import { Translator } from './translate.js';
import { versionVariable } from './version-variable.js';

const MAX_COMPLAINTS = 20;

/**
 * @param path the file; errors name it so
 * @throws EdgeError EDGE_CONFIG_INVALID with file, line and column; EDGE_SCRIPT_IMPORT; EDGE_SCRIPT_TOO_LARGE
 */
export async function readWranglerFile(path: string, reading: ReadingOptions): Promise<FunctionFile> {
  const { environment, isDevelopment = false } = reading;
  const { file, redirect } = await redirectedFile(path);
  const reader = readerOf(file, await textOf(file));
  if (redirect !== undefined && environment !== undefined && environment !== '')
    throw reader.error([], `The environment "${environment}" was chosen when the project was built: build it for that`);
  const own = environmentOf(reader, environment);
  const notes = [...checked(reader, own), ...ofRedirect(redirect, file)];
  // The schema has checked it.
  const table = own.table as WranglerTable;
  const root = dirname(resolve(file));
  // The folder where people keep their files, and not the one where a build tool has written its own.
  const project = redirect === undefined ? root : dirname(dirname(dirname(resolve(redirect))));
  const name = table.name ?? basename(root);
  const translation = new Translator(reader, own, name).translate();
  notes.push(...translation.notes);
  const useless = uselessRules(table);
  if (useless.length > 0) notes.push(`rules for ${useless.join(', ')} have no effect: such modules do not run here`);

  const { options: configured, inputs: variableFiles } = await withLocalVariables(translation.options, {
    own,
    folder: project,
    environment,
    isDevelopment,
    notes,
  });
  const build = buildOf(root, table);
  if (build !== undefined && reading.build !== undefined) await reading.build(build);
  const mainError = (message: string): EdgeError => {
    const hint =
      build === undefined || reading.build !== undefined ? '' : `; run its build command first: ${build.command}`;
    return reader.error(own.pathOf('main'), `${message}${hint}`);
  };
  if (table.main === undefined && table.assets === undefined)
    throw mainError('main is missing, expected the path of the main module, or assets for static files alone');
  const assets = table.assets && assetsOf(table.assets, root);
  const bundling = bundlingOf(root, table);
  // In development the files are the person's own.
  if (!isDevelopment) {
    const named = { assets: assets?.directory, tsconfig: bundling.tsconfig };
    for (const [key, path] of Object.entries(named)) {
      if (path !== undefined && (await leadsOut(project, path)))
        throw reader.error(own.pathOf(key), `${key} names ${path}, which is outside of the folder of the project`);
    }
  }
  const rules = rulesOf(table);
  const main = resolve(root, table.main ?? '');
  const source =
    table.main === undefined
      ? undefined
      : await mainModule({
          files: {
            root,
            main,
            rules,
            bundling,
            additional: await additionalModules(root, main, table, rules),
          },
          written: table.main,
          collect: reading.collect,
          error: mainError,
        });
  const versionBinding = source === undefined ? undefined : translation.versionBinding;
  const vars = {
    ...configured.vars,
    ...(versionBinding !== undefined && { [versionBinding]: await versionVariable(source ?? '', main) }),
  };
  return {
    source,
    options: { ...configured, vars, ...(assets !== undefined && { assets }) },
    notes: notes.map(note => `${basename(file)}: ${note}`),
    inputs: [resolve(path), resolve(file), ...(redirect === undefined ? [] : [resolve(redirect)]), ...variableFiles],
    migrations: await migrationsOf(root, translation.migrations),
    requiredSecrets: table.secrets?.required ?? [],
  };
}

/** Mistakes are errors; keys that nobody knows are remarks. */
function checked(reader: ConfigReader, { table, pathOf, notInherited }: EnvironmentTable): string[] {
  const errors: EdgeError[] = [];
  const notes: string[] = [];
  for (const complaint of complaintsAbout(WRANGLER_SCHEMA, table)) {
    const [key, ...rest] = complaint.path;
    const path = [...pathOf(String(key)), ...rest];
    if (complaint.kind === 'unknown') {
      const meant = nearestName(String(path.at(-1)), complaint.known);
      notes.push(`unknown key "${dotted(path)}"${meant === undefined ? '' : ` (did you mean ${meant}?)`}`);
    } else if (errors.length < MAX_COMPLAINTS) errors.push(reader.error(path, textOfComplaint({ ...complaint, path })));
  }
  throwAll(errors);
  if (notInherited.length > 0)
    notes.push(`the environment does not have these keys, which are not inherited: ${notInherited.join(', ')}`);
  return notes;
}

function ofRedirect(redirect: string | undefined, file: string): string[] {
  return redirect === undefined ? [] : [`read from ${file}, which the build tool has written`];
}

interface VariablesContext {
  readonly own: EnvironmentTable;
  readonly folder: string;
  readonly environment: string | undefined;
  readonly isDevelopment: boolean;
  readonly notes: string[];
}

/** The options with the values of `.dev.vars`: one replaces the variable of its name, and is a secret otherwise. */
async function withLocalVariables(
  options: FunctionFile['options'],
  { own, folder, environment, isDevelopment, notes }: VariablesContext,
): Promise<{ readonly options: FunctionFile['options']; readonly inputs: readonly string[] }> {
  const { values, files, notes: about } = await localVariables(folder, { environment, isDevelopment });
  notes.push(...about);
  const { secrets: { required } = {} } = own.table as WranglerTable;
  const vars: Record<string, unknown> = { ...options.vars };
  const secrets: Record<string, string> = {};
  for (const [name, value] of Object.entries(values)) {
    if (Object.hasOwn(vars, name)) vars[name] = value;
    else if (required === undefined || required.includes(name)) secrets[name] = value;
  }
  const missing = (required ?? []).filter(name => !Object.hasOwn(secrets, name) && !Object.hasOwn(vars, name));
  if (missing.length > 0) {
    const text = `required secrets have no value: ${missing.join(', ')}; write them to ${join(folder, '.dev.vars')}`;
    notes.push(text);
  }
  return { options: { ...options, vars, secrets }, inputs: files };
}
