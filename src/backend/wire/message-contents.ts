/** The contents of the messages of messages.ts. Both ends are of one version and trust each other. Numbers are little-endian. */
import type { CompiledRules } from '../../bindings/egress/rules/compiled-rules.js';
import type { EgressRefusal } from '../../bindings/egress/rules/refusals.js';
import type { ConnectionSlotRelease } from '../../quotas/connection-limiter.js';
import type { HostShareLimits } from '../../quotas/host/host-share.js';
import type { ResolvedLimits } from '../../quotas/resolve-limits.js';
import type { RemoteTotals } from '../calls/call-totals.js';

export interface RemovalStep {
  readonly account: string;
  readonly deleteData: boolean;
}

export interface Notice {
  readonly warning?: { readonly code: string; readonly message: string };
  /** The state of the sandbox of the engines of SQL. */
  readonly sqlSandbox?: unknown;
}

export function parseNotice(text: string): Notice {
  return JSON.parse(text); // written by the backend process
}

export enum News {
  Begun = 0,
  /** And its calls are traced. */
  BegunTraced = 1,
  Over = 2,
  /** No invocation has this id. */
  Unknown = 3,
  /** It is being ended: a call for whose answer its isolate stands still is given up. */
  Closing = 4,
  /** Over, and none of its calls is on its way. */
  OverAtRest = 5,
}

export const NEWS_BYTES = 9;

/** A function that the application has loaded, as its calls need it. */
export interface FunctionRegistration {
  readonly key: number;
  readonly account: string;
  readonly bounds: HostShareLimits;
  readonly function: string;
  readonly limits: ResolvedLimits;
  readonly props: Readonly<Record<string, unknown>>;
  readonly compatibility: { readonly date: string; readonly flags: readonly string[] };
  /** False for code that a function has loaded. @default true */
  readonly hasCaches?: boolean;
  /** With the values of its secrets, which are kept in the memory of the backend process. */
  readonly egress: CompiledRules | undefined;
  /** By the options of the rows; a configuration that only the application's code can give is undefined. */
  readonly bindings: readonly { readonly option: string; readonly name: string; readonly config: unknown }[];
}

/** A refusal of the policy of a function, with the invocation that it was refused to. */
export interface ToldRefusal {
  /** The key of its registration. */
  readonly function: number;
  readonly connection: number;
  readonly id: number;
  readonly refusal: EgressRefusal;
  readonly unreported: number;
}

export function parseToldRefusal(text: string): ToldRefusal {
  return JSON.parse(text); // written by the backend process
}

export interface DatabaseChange {
  readonly name: string;
  /** Undefined when there are too many to be named. */
  readonly keys?: readonly string[];
}

export function parseDatabaseChange(text: string): DatabaseChange {
  return JSON.parse(text); // written by the backend process
}

/** The greeting of an application. */
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
  /** Bounds of the bytes held for all accounts together. */
  readonly heapBytes: number;
  readonly bufferBytes: number;
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

/** Two numbers of 32 bits. Each message that has them says whose they are. */
export function pair(first: number, second: number): Buffer {
  const payload = Buffer.allocUnsafe(8);
  payload.writeUInt32LE(first, 0);
  payload.writeUInt32LE(second, 4);
  return payload;
}
