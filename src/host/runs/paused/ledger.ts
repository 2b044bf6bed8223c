/** The ledger of a run that may be paused: all that it got from outside, in order, so that its code can be run again to the place where it was. */
import type { CallbackReply } from '../../../bindings/callbacks/wire.js';

/** A call, as it came from the cell. */
export interface LedgerCall {
  readonly kind: 'call';
  readonly tool: string;
  /** The input as JSON on the wire. */
  readonly input: string;
  readonly lengths: readonly number[];
  /** The bytes of the input, as base64. */
  readonly bytes: string;
}

/** The answer that the code got for a call. */
export interface LedgerAnswer {
  readonly kind: 'answer';
  /** The index of the call among the entries. */
  readonly call: number;
  readonly reply: CallbackReply;
  readonly bytes: string;
  /** Whether `limits.calls` counts the call: one that was refused does not count. */
  readonly isCounted: boolean;
}

export type LedgerEntry = LedgerCall | LedgerAnswer;

export interface Ledger {
  readonly version: typeof LEDGER_VERSION;
  /** The id of the first run, which the ids of calls begin with. */
  readonly run: string;
  readonly code: string;
  readonly input: { readonly head: string; readonly bytes: string | null };
  /** 32 bytes in hexadecimal digits. */
  readonly randomKey: string;
  readonly clockMs: number;
  /** Calls and answers in the order in which they came. A call without an answer is retried. */
  readonly entries: readonly LedgerEntry[];
  /** The call that waits for approval: its index among the entries. */
  readonly pending: number;
  readonly pausedAt: number;
}

export const LEDGER_VERSION = 1;

/** The calls and answers of one run are held in memory while it runs. */
export const MAX_LEDGER_BYTES = 4 * 1024 * 1024;

export function isSameCall(one: LedgerCall, other: LedgerCall): boolean {
  return (
    one.tool === other.tool &&
    one.input === other.input &&
    one.bytes === other.bytes &&
    one.lengths.length === other.lengths.length &&
    one.lengths.every((length, i) => length === other.lengths[i])
  );
}

/** The heap that an entry takes, in bytes. */
export function sizeOf(entry: LedgerEntry): number {
  // The code chooses the name of the tool and the number of lengths, too.
  const bytes = entry.kind === 'call' ? 2 * entry.tool.length + 8 * entry.lengths.length : 0;
  const text = entry.kind === 'call' ? entry.input : JSON.stringify(entry.reply);
  return ENTRY_BYTES + bytes + 2 * (text.length + entry.bytes.length);
}

const ENTRY_BYTES = 200;
