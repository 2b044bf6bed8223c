/**
 * The messages of the control connection between host and cell: signals whose id is the lease. Both ends check what they read, since a function
 * that has escaped can write to the cell's end.
 */
import { FrameType } from '../protocol/frames/frame-layout.js';
import type { FrameBounds } from '../protocol/frames/frame-reader.js';
import { ProtocolError } from '../protocol/frames/protocol-error.js';
import type { LeaseEnd } from './cell/thread-pool.js';

export enum Control {
  /** Host to cell, once and first: JSON of CellSettings. */
  Settings = 0,
  /** Host to cell: a lease on a descriptor. u32 descriptor, and where its isolate has a connection to the backend process u32 descriptor of that. */
  Start = 1,
  /** Host to cell: end the lease. */
  End = 2,
  /** Cell to host: the cell is up. */
  Ready = 3,
  /** Cell to host: a lease is over: "reason\ndetail". */
  Ended = 4,
  /** Cell to host: a turn of the lease has become a long one (one byte, 1), or a long turn is over (0). */
  LongTurn = 5,
  /** Cell to host: the termination of a thread is overdue (one byte, 0), or it will never end (1). */
  TerminationOverdue = 6,
  /** Host to cell: answer at once. */
  Ping = 7,
  /** Cell to host: the answer. */
  Pong = 8,
}

/** The longest text that says how a lease ended. */
export const MAX_DETAIL_CHARACTERS = 2048;

/** The frames that the host accepts on the control connection: only short signals. */
export const CONTROL_BOUNDS: FrameBounds = {
  payload: type => (type === FrameType.Signal ? 4 * MAX_DETAIL_CHARACTERS : 0),
  openHead: () => 0,
  framesAtOnce: 64,
  parsedBytesAtOnce: Number.POSITIVE_INFINITY,
};

export interface CellSettings {
  readonly maxThreads: number;
  readonly execArgv: readonly string[];
  readonly heapBytes: number;
  readonly cellMemoryBytes: number;
  readonly guestBundle?: string;
  /** Nice value that its threads return to after a long turn. @default the nice value at its start */
  readonly basePriority?: number;
}

/** The descriptors of a lease: its connection to the host and, if there is a backend process, to that one. */
export interface LeaseDescriptors {
  readonly fd: number;
  readonly callsFd?: number;
}

export function startPayload(fd: number, callsFd: number | undefined): Buffer {
  const payload = Buffer.allocUnsafe(callsFd === undefined ? 4 : 8);
  payload.writeUInt32LE(fd, 0);
  if (callsFd !== undefined) payload.writeUInt32LE(callsFd, 4);
  return payload;
}

export function parseStart(payload: Buffer): LeaseDescriptors {
  const fd = payload.readUInt32LE(0);
  return payload.length === 4 ? { fd } : { fd, callsFd: payload.readUInt32LE(4) };
}

const LEASE_ENDS: readonly LeaseEnd[] = ['cpu', 'startup', 'memory', 'closed', 'exit', 'failed'];

/** The payload of a signal with a boolean. */
export function flag(isSet: boolean): Buffer {
  return Buffer.of(isSet ? 1 : 0);
}

export function parseFlag(payload: Buffer): boolean {
  if (payload.length !== 1)
    throw new ProtocolError(`A signal of the control connection has ${payload.length} bytes, expected 1`);
  return payload.readUInt8(0) === 1;
}

export function parseEnded(payload: Buffer): { readonly end: LeaseEnd; readonly detail: string } {
  const text = payload.toString('utf8');
  const at = text.indexOf('\n');
  const word = at < 0 ? text : text.slice(0, at);
  const end = LEASE_ENDS.find(known => known === word);
  if (end === undefined) throw new ProtocolError('A lease ended for an unknown reason');
  return { end, detail: at < 0 ? '' : text.slice(at + 1) };
}
