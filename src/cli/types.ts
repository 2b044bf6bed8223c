/** `edgehost types`: writes the type of `env` that a configuration file describes. */
import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { shownPath } from '../host/deploy/bundle/function-error.js';
import { readFunctionFile } from '../host/deploy/config-file.js';
import { configurationIn, isWranglerFile } from '../host/deploy/wrangler/find-file.js';
import { messageOf } from '../quotas/errors.js';
import { findFunctions } from './functions/find-functions.js';
import type { Syntax } from './terminal/arguments.js';
import { CommandError, command } from './terminal/command.js';
import { envTypes } from './types/env-types.js';

const NAME = 'worker-configuration.d.ts';

const SYNTAX = {
  name: 'types',
  paths: '[DIR|FILE]',
  count: { min: 0, max: 1 },
  about: `Writes ${NAME} beside the configuration file of a function: the interface Env, with the types of its
variables, secrets and bindings, and of the classes that its main module exports. Secrets are those of .dev.vars or
.env, and of secrets.required. Without a configuration file it writes nothing.`,
  options: {
    env: { kind: 'text', short: 'e', value: 'NAME', text: 'environment of wrangler.toml, .json or .jsonc' },
    output: { kind: 'text', short: 'o', value: 'FILE', text: `another file than ${NAME}` },
    check: { kind: 'flag', text: 'write nothing, and end with 1 when the file differs' },
  },
  examples: ['edgehost types', 'edgehost types functions/shop --env staging', 'edgehost types --check'],
} as const satisfies Syntax;

export const TYPES = command(SYNTAX, async ({ values, paths }, io) => {
  const path = paths[0] ?? '.';
  const file = await configurationOf(path);
  const environment = values.env ?? (isWranglerFile(file) ? io.env.CLOUDFLARE_ENV : undefined);
  let main: string | undefined;
  const read = await readFunctionFile(file, undefined, {
    environment,
    isDevelopment: true,
    // The types follow from the configuration alone, so no module is read.
    collect: async files => {
      main = files.main;
      return '';
    },
  }).catch((error: unknown) => {
    throw new CommandError(1, messageOf(error), { cause: error });
  });
  const output = resolve(values.output ?? join(dirname(file), NAME));
  const module = main === undefined ? undefined : importOf(output, main);
  const text = envTypes(read, { from: relative(dirname(output), resolve(file)), module });
  const before = await readFile(output, 'utf8').catch(() => undefined);
  if (before === text) {
    io.out(`${shownPath(output)} is up to date\n`);
    return 0;
  }
  if (values.check)
    throw new CommandError(1, `${shownPath(output)} differs from ${shownPath(file)}: run edgehost types`);
  await writeFile(output, text);
  io.out(`wrote ${shownPath(output)}\n`);
  return 0;
});

/** @throws CommandError when there is no configuration file */
async function configurationOf(path: string): Promise<string> {
  const { places, isFolder } = await findFunctions(path).catch((error: unknown) => {
    throw new CommandError(2, messageOf(error), { cause: error });
  });
  const [place] = places;
  const file = place?.kind === 'config' ? place.file : await configurationIn(resolve(path));
  if (file === undefined || isFolder)
    throw new CommandError(2, `${shownPath(resolve(path))} is no configuration file, and has none of one function`);
  return file;
}

/** The path by which an import in the output names the main module. */
function importOf(output: string, main: string): string {
  const path = relative(dirname(output), main)
    .replaceAll('\\', '/')
    .replace(/\.[cm]?[jt]sx?$/, '');
  return path.startsWith('.') ? path : `./${path}`;
}
