/** Applies the migrations that a configuration names to the databases of an account, before its function is loaded. */
import type { AccountSqlDatabase } from '../../bindings/sql/host-sql.js';
import { FunctionError } from '../../host/deploy/bundle/function-error.js';
import type { DatabaseMigrations } from '../../host/deploy/function-file.js';
import { messageOf } from '../../quotas/errors.js';

/**
 * A database remembers its migrations, so each is applied once.
 *
 * @returns a sentence for each database that has changed
 * @throws FunctionError for the first migration that fails, of which nothing is applied
 */
export async function applyMigrations(
  databaseOf: (name: string) => AccountSqlDatabase,
  migrations: readonly DatabaseMigrations[],
): Promise<readonly string[]> {
  const changes: string[] = [];
  for (const { database: name, files } of migrations) {
    const database = databaseOf(name);
    const applied = new Set((await database.migrations()).map(migration => migration.name));
    const waiting = files.filter(file => !applied.has(file.name));
    for (const file of waiting) {
      await database.migrate([file]).catch((cause: unknown) => {
        const text = `Migration ${file.name} of database "${name}" failed, and nothing of it was applied: ${messageOf(cause)}`;
        throw new FunctionError(text, { cause });
      });
    }
    if (waiting.length > 0)
      changes.push(`Migrations of database "${name}" were applied: ${waiting.map(file => file.name).join(', ')}`);
  }
  return changes;
}
