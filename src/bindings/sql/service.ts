import { guarded } from '../../quotas/guarded.js';
import { costOf, HOST_COSTS } from '../../quotas/host/host-costs.js';
import { isObject } from '../../quotas/schema/describe.js';
import { SQL_LIMITS } from '../../sqlite/limits.js';
import { cancelBody } from '../bodies/cancel-body.js';
import type { Service, ServiceBody, ServiceCall, ServiceReply } from '../service.js';
import type { FileAnswer, SqlBounds, SqlCall, SqlEngine } from './engine.js';
import { SqlError } from './errors.js';
import type { WireReply } from './wire.js';

/** How a database behaves for one caller. */
export interface SqlServiceOptions {
  /** The most that the account may have. @default no bounds */
  readonly limits?: SqlBounds;
  /** Called before each call; it is refused with what this throws. */
  readonly check?: () => void;
  /** The caller is the application: it has what concerns the database as a whole, too. @default false */
  readonly isApplication?: boolean;
}

/** Answers up to this many bytes are in the head: a body costs both ends as much as all else of a call. */
const HEAD_BYTES = 16 * 1024;

/**
 * Answers the calls of a database's client (wire.ts). The database is opened at the first call. An error of SQLite is an answer; the service rejects with
 * TypeError for wrong arguments, SqlError by the codes of errors.ts, EdgeError for the storage and quotas.
 */
export function sqlService(open: () => Promise<SqlEngine>, options: SqlServiceOptions = {}): Service {
  let opened: SqlEngine | undefined;
  return async call => {
    try {
      options.check?.();
      // A deleted database is recreated by a function bound to it, as by a load.
      if (opened === undefined || opened.isClosed) opened = await open();
      const engine = opened;
      switch (call.method) {
        case 'query':
          return await answered(engine, call.work, await engine.query(await sqlCall(call, options)), call);
        case 'exec':
          return await answered(engine, call.work, await engine.exec(await sqlCall(call, options)), call);
        default:
          if (options.isApplication === true) return await ofApplication(engine, call, options.limits);
          throw new TypeError(`A database has no method ${JSON.stringify(call.method.slice(0, 100))}`);
      }
    } catch (error) {
      cancelBody(call.body);
      throw error;
    }
  };
}

async function sqlCall(call: ServiceCall, { limits, isApplication = false }: SqlServiceOptions): Promise<SqlCall> {
  const { args, work } = call;
  const { n, r } = isObject(args) ? (args as { n?: unknown; r?: unknown }) : {}; // every object can be read from
  const statements = typeof n === 'number' && Number.isInteger(n) ? n : 0;
  if (statements < 1 || statements > SQL_LIMITS.batchStatements) {
    throw new SqlError(30001, `A batch has 1 to ${SQL_LIMITS.batchStatements} statements, not ${statements}`);
  }
  if (statements > 1) work.countQueries?.(statements - 1);
  const payload = call.body instanceof Uint8Array ? bounded(call.body) : await whole(call);
  work.charge(costOf(payload.byteLength, HOST_COSTS.movedMbMs));
  return {
    payload,
    statements,
    isReading: r === true,
    work,
    bounds: limits,
    isGone: isApplication ? undefined : () => call.isGivenUp ?? call.signal.aborted,
  };
}

/** All of the statements, of which there are few: counted while they come. */
async function whole({ body, work }: ServiceCall): Promise<Uint8Array> {
  if (body === null) throw new TypeError('The call has no statements');
  if (body instanceof Uint8Array) return bounded(body);
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const chunk of body) {
      chunks.push(chunk);
      bytes += chunk.byteLength;
      work.countBytes(chunk.byteLength);
      if (bytes > SQL_LIMITS.callBytes) throw tooLarge(bytes);
    }
    return Buffer.concat(chunks);
  } finally {
    // The call counts them from here on.
    work.countBytes(-bytes);
  }
}

function bounded(body: Uint8Array): Uint8Array {
  if (body.byteLength > SQL_LIMITS.callBytes) throw tooLarge(body.byteLength);
  return body;
}

function tooLarge(bytes: number): SqlError {
  return new SqlError(
    30001,
    `The statements and their values are ${bytes} bytes, at most ${SQL_LIMITS.callBytes} are allowed`,
  );
}

async function answered(
  engine: SqlEngine,
  work: ServiceCall['work'],
  { text, release }: FileAnswer,
  call: ServiceCall,
): Promise<ServiceReply> {
  const bookmark = isObject(call.args) && 's' in call.args ? engine.bookmark() : undefined;
  if (text.byteLength <= HEAD_BYTES) {
    // A WireReply around finished JSON.
    const headText = `{"a":${text.toString()}${bookmark === undefined ? '' : `,"b":"${bookmark}"`}}`;
    release();
    return { headText };
  }
  work.charge(costOf(text.byteLength, HOST_COSTS.movedMbMs));
  const head: WireReply = { s: text.byteLength, ...(bookmark !== undefined && { b: bookmark }) };
  return { head, body: chunksOf(text, release, call.signal) };
}

const CHUNK = 64 * 1024;

/** The answer in pieces, as fast as it is taken. */
function chunksOf(text: Buffer, release: () => void, signal: AbortSignal): ServiceBody {
  let at = 0;
  const end = guarded((): void => {
    at = text.byteLength;
    signal.removeEventListener('abort', end);
    release();
  });
  if (signal.aborted) end();
  else signal.addEventListener('abort', end, { once: true });
  const iterator: AsyncIterator<Uint8Array> = {
    async next() {
      if (at >= text.byteLength) {
        end();
        return { done: true, value: undefined };
      }
      // A copy: streams of bytes take the memory of what they are given, and this is part of more.
      const value = new Uint8Array(text.subarray(at, at + CHUNK));
      at += value.byteLength;
      return { done: false, value };
    },
    async return() {
      end();
      return { done: true, value: undefined };
    },
  };
  return { [Symbol.asyncIterator]: () => iterator };
}

async function ofApplication(
  engine: SqlEngine,
  call: ServiceCall,
  limits: SqlBounds | undefined,
): Promise<ServiceReply> {
  const { method, args, body } = call;
  switch (method) {
    case 'export':
      return { head: null, body: engine.export() };
    case 'backup':
      return { head: null, body: engine.backup() };
    case 'import':
      return { head: await engine.import(body ?? new Uint8Array(0), limits) };
    case 'restore':
      await engine.restore(body ?? new Uint8Array(0), limits);
      return { head: null };
    case 'migrate': {
      const { name } = args as { name: string }; // of the application's client
      return { head: await engine.migrate(name, Buffer.from(await whole(call)).toString(), limits) };
    }
    case 'migrations':
      return { head: await engine.migrations() };
    default:
      throw new TypeError(`A database has no method ${JSON.stringify(method)}`);
  }
}
