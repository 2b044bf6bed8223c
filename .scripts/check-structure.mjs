// Checks the sizes of the files and folders of src, and that each exported type has a name of its own. Run by `npm run lint`; the direction of imports and
// cycles of folders are checked by `npm run check:imports`.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import process from 'node:process';

const MAX_LINES = 400;
const MAX_FILES = 20;

/** Files that may be longer: each is one table, in which a reader looks a row up. */
const TABLES = {
  'src/host/account.ts': 'the methods of an account, beside their documentation',
  'src/isolate/source/strip-types.ts': 'the kinds of syntax that TypeScript adds, a case each',
  'src/quotas/errors.ts': 'the error codes, one row each',
  'src/quotas/limits.ts': 'the limits, one row each',
  'src/worker/functions.d.ts': 'the types that authors of functions import, beside each other for their editors',
};

/** Declares the types of what src/guest defines, under the same names. */
const DECLARATIONS = 'src/worker';

const failures = [];
const files = readdirSync('src', { recursive: true, withFileTypes: true })
  .filter(entry => entry.isFile() && /\.ts$/.test(entry.name))
  .map(entry => join(entry.parentPath, entry.name).replaceAll('\\', '/'))
  .sort();

const folders = new Map();
for (const file of files) folders.set(dirname(file), [...(folders.get(dirname(file)) ?? []), file]);
for (const [folder, { length }] of folders) {
  if (length > MAX_FILES) failures.push(`${folder}: the folder has ${length} files, at most ${MAX_FILES} are allowed`);
  if (length === 1 && ![...folders.keys()].some(other => other.startsWith(`${folder}/`)))
    failures.push(`${folder}: the folder has one file, which belongs in the folder above`);
}

const places = new Map();
for (const file of files) {
  const text = readFileSync(file, 'utf8');
  const lines = text.split('\n').length - 1;
  if (file in TABLES) {
    if (lines <= MAX_LINES) failures.push(`${file}: ${lines} lines need no exception in .scripts/check-structure.mjs`);
  } else if (lines > MAX_LINES) failures.push(`${file}: the file has ${lines} lines, at most ${MAX_LINES} are allowed`);
  if (file.startsWith(`${DECLARATIONS}/`)) continue;
  for (const [, name] of text.matchAll(
    /^export (?:declare )?(?:abstract )?(?:const )?(?:interface|type|class|enum) (\w+)/gm,
  ))
    places.set(name, (places.get(name) ?? new Set()).add(file));
}
for (const [name, where] of places)
  if (where.size > 1) failures.push(`${[...where].join(', ')}: each exports a type ${name}; rename all but one`);
for (const table of Object.keys(TABLES)) if (!files.includes(table)) failures.push(`${table}: no such file`);

for (const failure of failures) console.error(failure);
if (failures.length > 0) process.exitCode = 1;
