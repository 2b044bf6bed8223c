/** Requests about databases of objects: each is answered before the next one is read. */
import process from 'node:process';
import { frame } from '../frames.js';
import { malformedCall, parameterOf } from '../parameters.js';
import { NONE, running, write } from '../serving.js';
import type { SqliteLibrary, SqliteValue } from '../sqlite.js';
import { sqliteText } from '../sqlite-errors.js';
import { type CommittedPages, ObjectDatabase } from './object-database.js';
import { type ObjectRequest, type ObjectResponse, PAGE_RECORD_BYTES } from './object-messages.js';

const open = new Map<string, ObjectDatabase>();

export function closeObject(path: string): void {
  try {
    open.get(path)?.close();
  } catch {
    // Its files go with the folder of the process.
  }
  open.delete(path);
}

interface Answer {
  readonly payload: readonly Uint8Array[];
  readonly isFailure?: true;
  readonly isLost?: true;
}

export function answerObject(library: SqliteLibrary, request: ObjectRequest, payload: Buffer): void {
  const begun = process.cpuUsage();
  running[0] = 0;
  const answer = answerOf(library, request, payload);
  running[0] = NONE;
  const { user, system } = process.cpuUsage(begun);
  const database = open.get(request.path);
  const { payload: parts, ...flags } = answer;
  const head: ObjectResponse = {
    cpuUs: user + system,
    pages: database?.pages ?? 0,
    isDirty: database?.isDirty ?? false,
    ...flags,
  };
  write(frame(head, parts));
}

function answerOf(library: SqliteLibrary, request: ObjectRequest, payload: Buffer): Answer {
  let sql = '';
  try {
    if (request.op === 'open') {
      closeObject(request.path);
      open.set(request.path, new ObjectDatabase(library, request.path, payload));
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
      payload: [Buffer.from(sqliteText(error, sql, database?.refusal))],
      isFailure: true,
      ...(database?.isWhole === false && { isLost: true }),
    };
  }
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
