/** `edgehost sql migrate`: applies the migrations of a folder to a database of a storage directory. */

import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { SqlMigration } from '../bindings/sql/host-sql.js';
import { EdgeHost } from '../host/edge-host.js';
import { messageOf } from '../quotas/errors.js';
import { openStorage } from './serving/open-storage.js';
import type { Syntax } from './terminal/arguments.js';
import { CommandError, command } from './terminal/command.js';

const SYNTAX = {
  name: 'sql',
  paths: 'migrate NAME [FOLDER]',
  count: { min: 2, max: 3 },
  about: `Applies the migrations of FOLDER, which is "migrations" when it is not given, to the SQL database NAME: its files
whose names begin with a number and end in .sql, in the order of their names, each in a transaction of its own. The database
remembers what was applied: a file is applied once, and the first that fails ends the command. No host may have the storage
directory open; one that runs applies migrations by account.sql(NAME).migrate().`,
  options: {
    storage: { kind: 'text', value: 'DIR', text: 'the storage directory, else .edgehost' },
    account: { kind: 'text', value: 'ID', text: 'the account of the database, else that of functions without one' },
    list: { kind: 'flag', text: 'say which are applied and which are not, and apply none' },
    json: { kind: 'flag', text: 'the result as JSON' },
  },
  examples: [
    'edgehost sql migrate main',
    'edgehost sql migrate main db/migrations --storage data --account acme --list',
  ],
} as const satisfies Syntax;

const FILE = /^\d+.*\.sql$/;

export const SQL = command(SYNTAX, async ({ values, paths }, io) => {
  const [action, name = '', folder = 'migrations'] = paths;
  if (action !== 'migrate')
    throw new CommandError(2, `there is no action ${JSON.stringify(action)}; there is "migrate"`);
  const migrations = await migrationsIn(folder);
  const host = new EdgeHost({ storage: values.storage ?? '.edgehost', spareIsolates: 0, warmCells: 0 });
  const report = (text: string): void => {
    if (!values.json) io.out(`${text}\n`);
  };
  try {
    await openStorage(host, 'name another one with --storage');
    const database = values.account === undefined ? host.sql(name) : host.account(values.account).sql(name);
    const before = new Set((await database.migrations()).map(migration => migration.name));
    const waiting = migrations.filter(migration => !before.has(migration.name));
    if (values.list) {
      for (const migration of migrations)
        report(`${before.has(migration.name) ? 'applied' : 'waiting'}  ${migration.name}`);
      if (values.json)
        io.out(`${JSON.stringify({ applied: [...before], waiting: waiting.map(({ name }) => name) })}\n`);
      return 0;
    }
    const applied: string[] = [];
    for (const [index, migration] of waiting.entries()) {
      report(`${index + 1} of ${waiting.length}  ${migration.name}`);
      try {
        applied.push(...(await database.migrate([migration])));
      } catch (error) {
        throw new CommandError(1, `${migration.name} failed, and nothing of it was applied: ${messageOf(error)}`, {
          cause: error,
        });
      }
    }
    if (values.json) io.out(`${JSON.stringify({ applied })}\n`);
    report(applied.length === 0 ? 'nothing to apply: the database is up to date' : `done: ${applied.length} applied`);
    return 0;
  } finally {
    await host.close();
  }
});

/** In the order of their names. */
async function migrationsIn(folder: string): Promise<SqlMigration[]> {
  let files: string[];
  try {
    files = (await readdir(folder)).filter(file => FILE.test(file)).sort();
  } catch (error) {
    throw new CommandError(2, `Cannot read the folder ${folder}: ${messageOf(error)}`, { cause: error });
  }
  if (files.length === 0) {
    throw new CommandError(2, `There are no migrations in ${folder}: files such as 0001_users.sql`);
  }
  return Promise.all(files.map(async name => ({ name, sql: await readFile(join(folder, name), 'utf8') })));
}
