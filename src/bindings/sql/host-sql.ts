/** A database for the application itself, in its own process: the client that functions have, and what concerns the database as a whole. */
import { hostPlatform } from '../host-client.js';
import type { Service } from '../service.js';
import { createSqlClient } from './client/client.js';
import type { AppliedMigration } from './engine.js';
import type { SqlDatabase } from './types.js';

/** A migration: SQL with a name, as `0001_users.sql`. */
export interface SqlMigration {
  readonly name: string;
  readonly sql: string;
}

/** The content of an export, a backup, an import or a restore. */
export type SqlContent = ReadableStream<Uint8Array> | Uint8Array | string;

/** A database of an account, for the application. It rejects with EdgeErrors, and with errors that have the numeric `code`s of docs/sql.md. */
export interface AccountSqlDatabase extends SqlDatabase {
  /** The database as SQL, as it is at one moment, while others use it. */
  export(): Promise<ReadableStream<Uint8Array>>;
  /** Runs SQL, an export for example, as one transaction. At most 64 MiB. @returns the number of statements */
  import(sql: SqlContent): Promise<number>;
  /** The database as a file of SQLite, as it is at one moment, while others use it. */
  backup(): Promise<ReadableStream<Uint8Array>>;
  /** Replaces the database by such a file, which is checked first. */
  restore(file: SqlContent): Promise<void>;
  /** Applies the migrations that were not applied before, each in a transaction, in the order of their names. @returns the names of the ones applied now */
  migrate(migrations: readonly SqlMigration[]): Promise<string[]>;
  /** The migrations that were applied, in that order. */
  migrations(): Promise<readonly AppliedMigration[]>;
}

export function hostSql(service: Service): AccountSqlDatabase {
  const platform = hostPlatform(service);
  // The client answers what the overloads of the interface say; TypeScript cannot follow that through one implementation.
  const client = createSqlClient(platform) as SqlDatabase;
  const call = platform.call as (
    method: string,
    args: unknown,
    body: SqlContent | null,
  ) => ReturnType<typeof platform.call>; // streams of the web
  const read = async (method: 'export' | 'backup'): Promise<ReadableStream<Uint8Array>> => {
    const { body } = await call(method, null, null);
    if (body instanceof ReadableStream) return body;
    return new Blob(body ? [new Uint8Array(body)] : []).stream();
  };
  return Object.freeze({
    ...client,
    export: () => read('export'),
    backup: () => read('backup'),
    import: async (sql: SqlContent) => Number((await call('import', null, sql)).head),
    restore: async (file: SqlContent) => {
      await call('restore', null, file);
    },
    async migrate(migrations: readonly SqlMigration[]) {
      const applied: string[] = [];
      const sorted = [...migrations].sort((one, other) => (one.name < other.name ? -1 : 1));
      for (const { name, sql } of sorted) {
        if ((await call('migrate', { name }, sql)).head === true) applied.push(name);
      }
      return applied;
    },
    async migrations() {
      return (await call('migrations', null, null)).head as readonly AppliedMigration[]; // of the service
    },
  });
}
