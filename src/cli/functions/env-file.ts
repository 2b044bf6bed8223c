/** Variables from a file such as `.env`: for what a function is not to have in its configuration. */
import { readFile } from 'node:fs/promises';
import { parseEnv } from 'node:util';
import { FunctionError, shownPath } from '../../host/deploy/bundle/function-error.js';
import type { LoadOptions } from '../../host/options/options.js';
import { isBindingName } from '../../quotas/binding-name.js';

export type EnvFile = Readonly<Record<string, string>>;

/** @throws FunctionError when the file cannot be read, or has a name that a function cannot have */
export async function readEnvFile(file: string): Promise<EnvFile> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (cause) {
    throw new FunctionError(`Cannot read the file of variables ${shownPath(file)}: ${String(cause)}`, { cause });
  }
  const variables: Record<string, string> = {};
  for (const [name, value] of Object.entries(parseEnv(text))) {
    if (!isBindingName(name))
      throw new FunctionError(
        `${shownPath(file)}: ${JSON.stringify(name)} is not a name for a variable, expected a JavaScript identifier that is not a reserved word`,
      );
    variables[name] = String(value);
  }
  return variables;
}

/** A variable of the file replaces the configuration's variable of the same name; all others are secrets. */
export function withEnv<T extends LoadOptions>(options: T, env: EnvFile): T {
  const vars: Record<string, unknown> = { ...options.vars };
  const secrets: Record<string, string> = { ...options.secrets };
  for (const [name, value] of Object.entries(env)) {
    if (Object.hasOwn(vars, name)) vars[name] = value;
    else secrets[name] = value;
  }
  return { ...options, vars, secrets };
}
