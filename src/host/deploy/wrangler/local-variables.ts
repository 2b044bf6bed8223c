/** Variables and secrets that are beside the configuration of the hosted platform: `.dev.vars`, or else `.env` in development. */
import { readFile, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { isBindingName } from '../../../quotas/binding-name.js';
import { EdgeError } from '../../../quotas/errors.js';
import { isInside } from '../../../storage/files/inside-folder.js';

export interface LocalVariables {
  readonly values: Readonly<Record<string, string>>;
  /** The files that were read. */
  readonly files: readonly string[];
  readonly notes: readonly string[];
}

const MAX_BYTES = 1024 * 1024;

/**
 * `.dev.vars.NAME` of the environment, or else `.dev.vars`. Without either, and in development only, `.env`, `.env.local`, `.env.NAME` and
 * `.env.NAME.local`, where later files replace values of earlier ones.
 *
 * @throws EdgeError EDGE_CONFIG_INVALID for a file that cannot be read, or is a link out of the folder
 */
export async function localVariables(
  folder: string,
  { environment, isDevelopment }: { readonly environment: string | undefined; readonly isDevelopment: boolean },
): Promise<LocalVariables> {
  const named = environment === undefined || environment === '' ? [] : [environment];
  for (const name of [...named.map(each => `.dev.vars.${each}`), '.dev.vars']) {
    const text = await textIn(folder, name);
    if (text !== undefined) return variablesOf([{ file: join(folder, name), text }]);
  }
  if (!isDevelopment) return { values: {}, files: [], notes: [] };
  const texts: { file: string; text: string }[] = [];
  for (const name of ['.env', '.env.local', ...named.flatMap(each => [`.env.${each}`, `.env.${each}.local`])]) {
    const text = await textIn(folder, name);
    if (text !== undefined) texts.push({ file: join(folder, name), text });
  }
  return variablesOf(texts);
}

function variablesOf(texts: readonly { readonly file: string; readonly text: string }[]): LocalVariables {
  const values: Record<string, string> = {};
  const notes: string[] = [];
  for (const { file, text } of texts) {
    for (const [name, value] of Object.entries(parseEnv(text))) {
      if (isBindingName(name)) values[name] = String(value);
      else notes.push(`${file}: ${JSON.stringify(name)} is left out, as it is no JavaScript identifier`);
    }
  }
  return { values, files: texts.map(({ file }) => file), notes };
}

/** Undefined when there is no such file. The folder may be a customer's, and a link in it lead to a file of the application. */
async function textIn(folder: string, name: string): Promise<string | undefined> {
  const file = join(folder, name);
  const real = await realpath(file).catch(() => undefined);
  if (real === undefined) return undefined;
  const { size, isRegular } = await stat(real).then(info => ({ size: info.size, isRegular: info.isFile() }));
  if (!isRegular) return undefined;
  const refuse = (why: string): EdgeError =>
    new EdgeError('EDGE_CONFIG_INVALID', `Cannot read ${file}: ${why}`, { location: { file } });
  if (!isInside(await realpath(folder), real)) throw refuse('it is a link to a file outside of its folder');
  if (size > MAX_BYTES) throw refuse(`it has ${size} bytes, at most ${MAX_BYTES} are allowed`);
  return readFile(real, 'utf8');
}
