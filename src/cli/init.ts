/** `edgehost init`: a small function to begin with. */
import { access, mkdir, writeFile } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { shownPath } from '../host/deploy/bundle/function-error.js';
import { CONFIG_NAME } from '../host/deploy/wrangler/find-file.js';
import { nameOf } from './functions/find-functions.js';
import { type FunctionTemplate, functionTemplate } from './init/function-template.js';
import { ownDependency } from './init/own-package.js';
import type { Syntax } from './terminal/arguments.js';
import { CommandError, command } from './terminal/command.js';

const SYNTAX = {
  name: 'init',
  paths: '[DIR]',
  count: { min: 0, max: 1 },
  about: `Writes a small function: its script, ${CONFIG_NAME}, and the types of what a function has. Overwrites nothing: when
the script or ${CONFIG_NAME} is there already, it writes no file at all; a package.json, tsconfig.json or .gitignore
that is there stays as it is.`,
  options: {
    name: { kind: 'text', value: 'NAME', text: 'name of the function, default that of the folder' },
    javascript: { kind: 'flag', text: 'JavaScript, which needs no bundler, in place of TypeScript' },
  },
  examples: [
    'edgehost init hello && cd hello && npm install && npx edgehost dev',
    'edgehost init --javascript plugins/notes',
  ],
} as const satisfies Syntax;

export const INIT = command(SYNTAX, async ({ values, paths }, io) => {
  const folder = resolve(paths[0] ?? '.');
  const name = values.name ?? nameOf(basename(folder));
  if (nameOf(name) !== name)
    throw new CommandError(
      2,
      `Option --name is ${JSON.stringify(name)}, expected 1 to 63 letters, digits, ".", "_" or "-", beginning with a letter or digit`,
    );
  const { spec, path } = ownDependency(folder);
  const template = functionTemplate({ name, language: values.javascript ? 'js' : 'ts', edgehost: spec });
  await refuseToOverwrite(folder, template);
  for (const [file, content] of Object.entries(template.own)) await write(join(folder, file), content);
  const written = Object.keys(template.own);
  const kept: string[] = [];
  for (const [file, content] of Object.entries(template.shared)) {
    const isNew = await write(join(folder, file), content);
    (isNew ? written : kept).push(file);
  }
  for (const file of written) io.out(`wrote ${shownPath(join(folder, file))}\n`);
  for (const file of kept) io.out(`left  ${shownPath(join(folder, file))} as it is\n`);
  if (path !== undefined && written.includes('package.json'))
    io.out(
      `\nThis edgehost does not come from a registry: package.json takes it from ${path}. Put a version there for others.\n`,
    );
  const where = relative('.', folder);
  const steps = [...(where === '' ? [] : [`cd ${where}`]), 'npm install', 'npx edgehost dev'];
  io.out(`\nNext:\n${steps.map(step => `  ${step}\n`).join('')}`);
  return 0;
});

async function refuseToOverwrite(folder: string, { own }: FunctionTemplate): Promise<void> {
  const there: string[] = [];
  for (const file of Object.keys(own)) {
    if (await exists(join(folder, file))) there.push(shownPath(join(folder, file)));
  }
  if (there.length > 0) throw new CommandError(1, `Nothing was written: ${there.join(' and ')} would be overwritten`);
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

/** @returns whether it was written: a file that is there stays */
async function write(path: string, content: string): Promise<boolean> {
  await mkdir(dirname(path), { recursive: true });
  try {
    // A file that has come meanwhile is not overwritten either.
    await writeFile(path, content, { flag: 'wx' });
    return true;
  } catch (error) {
    if (await exists(path)) return false;
    throw error;
  }
}
