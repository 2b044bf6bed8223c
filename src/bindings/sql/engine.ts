/**
 * The operations of a database, on plain data: the one interface behind the binding, `account.sql()` and the management API. The callers check all
 * arguments but SQL and its values, which are checked where they run.
 */
import type { CallWork } from '../../quotas/host/call-work.js';
import type { ResolvedLimits } from '../../quotas/resolve-limits.js';

/** The most that an account may have. */
export type SqlBounds = Pick<
  ResolvedLimits,
  'plan' | 'storageBytes' | 'storageObjects' | 'sqlDatabases' | 'sqlDatabaseBytes'
>;

export interface FileAnswer {
  /** JSON: results, or why SQLite has refused them. To be released. */
  readonly text: Buffer;
  readonly isFailure: boolean;
  /** The bytes are no longer held. */
  release(): void;
}

export interface SqlCall {
  /** The statements as the client has written them (wire.ts), or the text of exec(). */
  readonly payload: Uint8Array;
  readonly statements: number;
  /** They seem to change nothing. */
  readonly isReading: boolean;
  /** Whether nobody waits for the answer any more. Undefined: somebody always does. */
  readonly isGone: (() => boolean) | undefined;
  readonly work: CallWork;
  /** @default no bounds */
  readonly bounds?: SqlBounds | undefined;
}

export interface AppliedMigration {
  /** The name of its file. */
  readonly name: string;
  /** ISO 8601. */
  readonly appliedAt: string;
}

export interface SqlInfo {
  readonly name: string;
  /** Milliseconds since the epoch. */
  readonly created: number;
  /** The bytes that the account is charged with: somewhat more than the file has. */
  readonly bytes: number;
}

/** A database. Each method rejects with 30002 when it was deleted, and with 30004 to 30007. */
export interface SqlEngine {
  readonly name: string;
  /** It was deleted: its name stands for another one. */
  readonly isClosed: boolean;
  query(call: SqlCall): Promise<FileAnswer>;
  exec(call: SqlCall): Promise<FileAnswer>;
  /** A text that is later the later it was asked for, by the order of its bytes. */
  bookmark(): string;
  /** The database as SQL, as it is at one moment. */
  export(): AsyncIterable<Uint8Array>;
  /** Runs SQL as one transaction. @returns the number of statements. Rejects with 30008 */
  import(text: AsyncIterable<Uint8Array> | Uint8Array, bounds?: SqlBounds): Promise<number>;
  /** The database as a file of SQLite, as it is at one moment. */
  backup(): AsyncIterable<Uint8Array>;
  /** Replaces the database by such a file. Calls that come meanwhile wait or fail with 30007. Rejects with 30001 when the file is no database. */
  restore(file: AsyncIterable<Uint8Array> | Uint8Array, bounds?: SqlBounds): Promise<void>;
  /** Applies one migration, unless it was applied before. @returns whether it was applied now. Rejects with 30008 */
  migrate(name: string, sql: string, bounds?: SqlBounds): Promise<boolean>;
  /** In the order in which they were applied. */
  migrations(): Promise<readonly AppliedMigration[]>;
}

/** The databases of one account. */
export interface SqlDirectory {
  /** Opens the database, and creates it when it does not exist. Rejects with 30001, and EDGE_LIMIT_EXCEEDED like `create`. */
  open(name: string, bounds?: SqlBounds): Promise<SqlEngine>;
  /** null when there is no such database. */
  find(name: string): Promise<SqlEngine | null>;
  create(name: string, bounds?: SqlBounds): Promise<{ readonly created: boolean }>;
  /** With all that is in it. Rejects with 30002. */
  delete(name: string): Promise<void>;
  list(): Promise<SqlInfo[]>;
}
