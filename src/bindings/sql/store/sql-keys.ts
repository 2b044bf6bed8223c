/**
 * Where SQL databases keep their records in the storage. Ids are made by the host and hold no "/". The databases themselves are files beside.
 *
 *     zdn<account>/<name>    a database
 *     zdr<id>                a database that was deleted: its files are being removed. The value is its account, and empty when the account was
 *                            removed, too; then the bytes that it counted for
 */
export const sqlKeys = {
  /** The prefix of all accounts. */
  databases: () => 'zdn',
  removed: (id: string) => `zdr${id}`,
  /** The prefix of all databases. */
  allRemoved: () => 'zdr',
} as const;

export const SQL_KEYSPACE: readonly string[] = ['zd'];
