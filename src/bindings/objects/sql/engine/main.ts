/** A process with databases of objects: it answers requests one after the other. */
import process from 'node:process';
import { frame } from '../../../sql/engine/frames.js';
import { malformedCall, parameterOf } from '../../../sql/engine/parameters.js';
import { NONE, running, serve, startWatch, write } from '../../../sql/engine/serving.js';
import { loadSqlite, type SqliteLibrary, type SqliteValue } from '../../../sql/engine/sqlite.js';
import { sqliteText } from '../../../sql/engine/sqlite-errors.js';
import { PAGE_RECORD_BYTES, type SqlRequest, type SqlResponse } from '../messages.js';
import { type CommittedPages, ObjectDatabase } from './object-database.js';

const open = new Map<string, ObjectDatabase>();

startWatch();
await begin();

async function begin(): Promise<void> {
  let library: SqliteLibrary | undefined;
  let failure = '';
  try {
    library = await loadSqlite();
  } catch (error) {
    failure = error instanceof Error ? error.message : 'unknown';
  }
  serve((head, payload) => receive(library, failure, head as SqlRequest, payload)); // the host's
}

interface Answer {
  readonly payload: readonly Uint8Array[];
  readonly isFailure?: true;
  readonly isLost?: true;
}

function receive(library: SqliteLibrary | undefined, failure: string, request: SqlRequest, payload: Buffer): void {
  const begun = process.cpuUsage();
  running[0] = 0;
  const answer = library === undefined ? failed(failure) : answerOf(library, request, payload);
  running[0] = NONE;
  const { user, system } = process.cpuUsage(begun);
  const database = open.get(request.path);
  const { payload: parts, ...flags } = answer;
  const head: SqlResponse = {
    cpuUs: user + system,
    pages: database?.pages ?? 0,
    isDirty: database?.isDirty ?? false,
    ...flags,
  };
  write(frame(head, parts));
}

function answerOf(library: SqliteLibrary, request: SqlRequest, payload: Buffer): Answer {
  let sql = '';
  try {
    if (request.op === 'open' || request.op === 'close') {
      open.get(request.path)?.close();
      open.delete(request.path);
      if (request.op === 'open') open.set(request.path, new ObjectDatabase(library, request.path, payload));
      return { payload: [] };
    }
    const database = open.get(request.path);
    if (database === undefined) throw new Error('the database is not open: SQLITE_CANTOPEN');
    switch (request.op) {
      case 'exec': {
        const call = callOf(payload);
        sql = call.sql;
        return { payload: [Buffer.from(database.exec(sql, call.values, request.layers, request.maxBytes))] };
      }
      case 'rollback':
        database.rollback(request.layer);
        return { payload: [] };
      default:
        return { payload: records(database.commit(), request.maxPages) };
    }
  } catch (error) {
    const database = open.get(request.path);
    return {
      ...failed(sqliteText(error, sql, database?.refusal)),
      ...(database?.isWhole === false && { isLost: true }),
    };
  }
}

function failed(text: string): Answer {
  return { payload: [Buffer.from(text)], isFailure: true };
}

/** The number of pages, then those that have changed; nothing when none has. */
function records(committed: CommittedPages | undefined, maxPages: number): Buffer[] {
  if (committed === undefined) return [];
  const { total, pages } = committed;
  if (pages.size > maxPages)
    throw new Error(`${pages.size} pages have changed, and at most ${maxPages} can be written at once: SQLITE_TOOBIG`);
  const bytes = Buffer.allocUnsafeSlow(4 + pages.size * PAGE_RECORD_BYTES);
  bytes.writeUInt32LE(total, 0);
  let at = 4;
  for (const [number, page] of pages) {
    bytes.writeUInt32LE(number, at);
    bytes.set(page, at + 4);
    at += PAGE_RECORD_BYTES;
  }
  return [bytes];
}

/** Reads a call that a function has written. */
function callOf(payload: Buffer): { readonly sql: string; readonly values: readonly SqliteValue[] } {
  let call: unknown;
  try {
    call = JSON.parse(payload.toString());
  } catch {
    throw malformedCall();
  }
  if (!Array.isArray(call)) throw malformedCall();
  const [sql, ...values]: unknown[] = call;
  if (typeof sql !== 'string') throw malformedCall();
  return { sql, values: values.map(parameterOf) };
}
