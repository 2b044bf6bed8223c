/**
 * The functions of SQL that statements may use: those that compute from their arguments, and see nothing but the database. A build of SQLite may have others.
 */

const FAMILIES = /^(?:jsonb?_|percentile|sqlite_(?:rename|drop)_)/;

const ALLOWED: ReadonlySet<string> = new Set(
  `
  abs acos acosh asin asinh atan atan2 atanh avg ceil ceiling changes char coalesce concat concat_ws cos cosh count cume_dist current_date current_time
  current_timestamp date datetime degrees dense_rank exp first_value floor format glob group_concat hex if ifnull iif instr julianday lag last_insert_rowid
  last_value lead length like likelihood likely ln log log10 log2 lower ltrim match max median min mod nth_value ntile nullif octet_length percent_rank pi pow
  power printf quote radians random randomblob rank regexp replace round row_number rtrim sign sin sinh soundex sqlite_version sqlite_source_id sqrt
  string_agg strftime substr substring subtype sum tan tanh time timediff total total_changes trim trunc typeof unhex unicode unistr unistr_quote unixepoch
  unlikely upper zeroblob json jsonb -> ->>
  bm25 highlight snippet fts5_get_locale fts5_insttoken fts5_locale fts5_source_id
  `
    .trim()
    .split(/\s+/),
);

/** @param name in small letters */
export function isAllowedFunction(name: string): boolean {
  return ALLOWED.has(name) || FAMILIES.test(name);
}
