/** The limits of SQL databases that are the same for every plan: SQLite's limits as hosted platforms set them, and the limits of the engine. */
const MIB = 1024 * 1024;

export const SQL_LIMITS = {
  /** A string, a BLOB or a row. */
  valueBytes: 2 * MIB,
  /** The text of a statement, or of several in one. */
  sqlBytes: 100_000,
  columns: 100,
  expressionDepth: 100,
  compoundSelect: 5,
  programSteps: 25_000,
  functionArguments: 32,
  likePatternBytes: 50,
  parameters: 100,
  triggerDepth: 10,
  /** The statements of one batch. */
  batchStatements: 1000,
  /** All statements of one call with their values, as JSON. */
  callBytes: 8 * MIB,
  /** The result of one call, as JSON. */
  resultBytes: 16 * MIB,
  /** A call, from the time that it runs on. */
  queryMs: 30_000,
  /** An export, an import, a backup or a restore. */
  maintenanceMs: 15 * 60_000,
  /** Calls of one database that wait. */
  waitingCalls: 1000,
  /** The process that runs the statements, SQLite's memory included; what Node itself takes of it is about 60 MiB. */
  processBytes: 320 * MIB,
  /** Exports, backups, imports and restores of one account at once. */
  wholeFiles: 2,
  /** The text of an import. */
  importBytes: 64 * MIB,
} as const;
