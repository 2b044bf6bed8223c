/**
 * The messages about calls on the control connection between an application and its services process. Both ends are ours and trust each other. Numbers are
 * little-endian; a connection is one of a cell's to the services, by the number that the application gave it.
 */
import { deserialize, serialize } from 'node:v8';
import type { ConnectionSlotRelease } from '../quotas/connection-limiter.js';
import type { HostShareLimits } from '../quotas/host/host-share.js';
import type { ResolvedLimits } from '../quotas/resolve-limits.js';
import type { RemoteTotals } from './calls/call-totals.js';

/** Exchanges that the application opens, besides those of remote/. */
export enum ApplicationAsks {
  /** First of all what the application is. Body: {@link ApplicationHello} as {@link packed}. Answered with changesText() of MissedChanges. */
  Hello = 31,
  /** Body: {@link FunctionRecord} as {@link packed}. Answered when the bindings of the function can be used. */
  Function = 32,
  /** The rest of the body of a call, which the isolate passes on: "connection\ncall", and the body. */
  Splice = 33,
  /** A fetch that the application makes follows a redirect: "connection\ninvocation\nhop". Answered when it was counted. */
  Redirect = 34,
}

/** Exchanges that the services open. */
export enum ServicesAsk {
  /**
   * A call that is answered in the application, and its body: "function\nconnection\ninvocation\nservice\nmethod\nbinding\ntrace headers as JSON\n" and
   * its arguments as JSON.
   */
  Call = 32,
  /** Whether a function of the application answers a hop of a fetch: JSON of LocalHead. Answered with '' where the network does. */
  Route = 35,
  /** A hop of a fetch that a function of the application answers: JSON of LocalHead, and its body. */
  Local = 33,
  /** The rest of the body of an answer, which the isolate passes on: "connection\ninvocation", and the body. */
  Splice = 36,
  /** An account has changed: changesText() of ToldChange. Answered when this application has followed. */
  AccountChanged = 37,
  /**
   * The application that removes an account is gone: this one is to remove what is kept beside the data of the account. JSON of {@link RemovalStep}.
   * Answered when it has.
   */
  RemovalLeft = 38,
  /** A call of a traced invocation begins: "connection\ninvocation\n" and JSON of TracedCall. Answered with JSON of its headers. */
  TraceBegins = 34,
}

export interface RemovalStep {
  readonly account: string;
  readonly deleteData: boolean;
}

export enum ControlSignal {
  // --- to the services ---
  /** A cell has ended: u32 its first connection | u32 their number. */
  Gone = 38,
  /** The isolate behind a connection runs a function from now on: u32 connection | u32 function. */
  Attach = 33,
  /** Records of {@link NEWS_BYTES}: u32 connection | u32 invocation | u8 {@link News}. */
  Invocations = 34,
  /** No isolate loads the function any more: u32 function. */
  Forget = 35,
  /** The account is gone. UTF-8 account. */
  AccountEnds = 36,
  /** Host names that functions of the application answer. JSON. */
  Names = 37,
  /**
   * The subrequests of an invocation that is about to be announced count to another one, too: u32 connection | u32 invocation, and the same of the other.
   */
  Belongs = 46,
  /** Bytes of bodies that a fetch of the application has sent and received: u32 connection | u32 invocation | f64 | f64. */
  Egress = 39,
  // --- to the application ---
  /** A call came of an invocation that was not announced: u32 connection | u32 invocation. */
  Asks = 40,
  /** Work for an invocation, which counts as its CPU time: u32 connection | u32 invocation | u32 microseconds. */
  Charged = 41,
  /** An invocation is over here too: u32 connection | u32 invocation | u32 microseconds | u32 moved KiB | packed RemoteTotals. */
  Totals = 42,
  /** The account holds what does not fall: its cells have to end. "account\nreason". */
  Stuck = 43,
  /** A cell broke the protocol: u32 connection | reason. */
  Broken = 44,
  /** The end of a traced call: JSON. */
  TraceEnds = 45,
  /** Another application has changed a database: JSON of {@link DatabaseChange}. */
  DatabaseChanged = 47,
  /** What the process of the services says of itself: JSON of {@link Notice}. */
  Notice = 48,
}

export interface Notice {
  readonly warning?: { readonly code: string; readonly message: string };
  /** The state of the sandbox of the engines of SQL. */
  readonly sqlSandbox?: unknown;
}

export function parseNotice(text: string): Notice {
  return JSON.parse(text); // written by the services
}

export enum News {
  Begun = 0,
  /** And its calls are traced. */
  BegunTraced = 1,
  Over = 2,
  /** There is none of this id. */
  Unknown = 3,
  /** It is being ended: a call for whose answer its isolate stands still is given up. */
  Closing = 4,
  /** Over, and none of its calls is on its way. */
  OverAtRest = 5,
}

export const NEWS_BYTES = 9;

/** A function that the application has loaded, as its calls need it. */
export interface FunctionRecord {
  readonly key: number;
  readonly account: string;
  readonly bounds: HostShareLimits;
  readonly function: string;
  readonly limits: ResolvedLimits;
  readonly props: Readonly<Record<string, unknown>>;
  readonly compatibility: { readonly date: string; readonly flags: readonly string[] };
  /** By the options of the rows; a configuration that only the application's code can give is undefined. */
  readonly bindings: readonly { readonly option: string; readonly name: string; readonly config: unknown }[];
}

/** Values with numbers that JSON has no texts for. */
export function packed(value: unknown): Uint8Array {
  return serialize(value);
}

export interface DatabaseChange {
  readonly name: string;
  /** Undefined when there are too many to be named. */
  readonly keys?: readonly string[];
}

export function parseDatabaseChange(text: string): DatabaseChange {
  return JSON.parse(text); // written by the services
}

/** What an application says of itself. */
export interface ApplicationHello {
  readonly connectionSlotRelease: ConnectionSlotRelease;
  /** Rows of the registry that are answered in the application, by number. */
  readonly applicationRows: readonly number[];
  /** The options of the host that can cross. */
  readonly options: unknown;
  /** Days of usage that the application keeps. */
  readonly keepDays: number;
  readonly keepsUsage: boolean;
  /** The last change of accounts that it knows; undefined for one that begins. */
  readonly seenChange: number | undefined;
  /** Bounds of what is held for all accounts together, in bytes. */
  readonly heapBytes: number;
  readonly bufferBytes: number;
}

export function unpackedHello(bytes: Uint8Array): ApplicationHello {
  return deserialize(bytes); // packed by the application
}

export function unpackedFunction(bytes: Uint8Array): FunctionRecord {
  return deserialize(bytes); // packed by the application
}

export function packedTotals(
  connection: number,
  invocation: number,
  chargedUs: number,
  movedKib: number,
  totals: RemoteTotals,
): Buffer {
  const head = Buffer.allocUnsafe(16);
  head.writeUInt32LE(connection, 0);
  head.writeUInt32LE(invocation, 4);
  head.writeUInt32LE(chargedUs, 8);
  head.writeUInt32LE(movedKib, 12);
  return Buffer.concat([head, Buffer.from(JSON.stringify(totals))]);
}

export function unpackedTotals(payload: Buffer): RemoteTotals {
  return JSON.parse(payload.toString('utf8', 16)); // of packedTotals()
}

/** Two numbers of 32 bits: whose they are, see {@link ControlSignal}. */
export function pair(first: number, second: number): Buffer {
  const payload = Buffer.allocUnsafe(8);
  payload.writeUInt32LE(first, 0);
  payload.writeUInt32LE(second, 4);
  return payload;
}
