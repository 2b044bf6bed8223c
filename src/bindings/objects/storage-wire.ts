/**
 * The calls of the storage of stateful objects: its client in the function's realm and the service speak them. Arguments stand as JSON beside a body that has
 * the keys and values, all numbers of which are little-endian:
 *
 *     a key       u16 length | UTF-8
 *     an entry    u16 length of the key | u32 length of the value, or NO_VALUE | UTF-8 | value
 */

/** Begins to use the object: from here on calls of those who used it before are refused. The answer is an OpenedObject. */
export const OPEN = 'open';
/** Body: keys. The answer is a FoundValues, its body the values of keys that are there, one after the other. */
export const GET = 'get';
/** Body: the keys that `b` names. The answer is a ListedPage, its body entries in the order of the keys. */
export const LIST = 'list';
/** Body: entries. Is answered when all of them are on disk. */
export const WRITE = 'write';
/** The answer is when the alarm of the object is due, in milliseconds since the epoch, or null. */
export const GET_ALARM = 'getAlarm';

/** Runs SQL. Body: JSON of the text and its values. The answer is an SqlAnswer, its body the rows (object-messages.ts) or why SQLite has refused the text. */
export const SQL = 'sql';
/** Undoes what SQL has written since the transaction `y` began, or with 0 everything that is not part of a write. */
export const SQL_ROLLBACK = 'sqlRollback';

/** The longest arguments of a call, in bytes: they hold the longest class and the longest name, each character of which may take six in JSON. */
export const STORAGE_HEAD_BYTES = 8192;

/** In place of the length of a value: the key has none, or is deleted. */
export const NO_VALUE = 0xffff_ffff;
/** The bytes of an entry before its key. */
export const ENTRY_HEAD_BYTES = 6;
/** The bytes before a key. */
export const KEY_HEAD_BYTES = 2;

/** The object and its caller, by the number that OPEN has answered with (0 for OPEN itself). */
export interface ObjectAddress {
  readonly c: string;
  readonly i: string;
  readonly s: number;
}

export interface OpenedObject {
  readonly s: number;
  /** Nothing is stored for it. */
  readonly e: boolean;
}

export interface GetArguments extends ObjectAddress {
  /** Whether the keys are there is all that is asked. */
  readonly x?: boolean;
}

export interface FoundValues {
  /** The lengths of the values of the first keys, -1 for one that is not there. The others are to be asked for again. */
  readonly n: readonly number[];
}

/** Bits of `b`, in the order in which the body has the keys. */
export const FROM_KEY = 1;
export const TO_KEY = 2;
export const PREFIX = 4;

export interface ListArguments extends ObjectAddress {
  /** The most entries. */
  readonly l: number;
  readonly r: boolean;
  readonly b: number;
}

export interface ListedPage {
  /** There is nothing behind it. */
  readonly d: boolean;
}

export interface SqlArguments extends ObjectAddress {
  /** The transactions that are open, by number, the outermost first. */
  readonly p: readonly number[];
  /** Everything that is stored is deleted by the write that this will be part of: the how manieth time that is. 0: it is not. */
  readonly z: number;
}

export interface SqlAnswer {
  /** Something is written by SQL that is to be part of a write. */
  readonly w: boolean;
  /** SQLite has refused it. */
  readonly f?: true;
}

export interface WriteArguments extends ObjectAddress {
  /** The number of the write among the writes of `s`, from 0. */
  readonly q: number;
  /** The length of the body. */
  readonly n: number;
  /** Everything that was stored before is deleted. */
  readonly d?: boolean;
  /** When the alarm is due, in milliseconds since the epoch; null: it has no alarm any more. Absent: it stays. */
  readonly a?: number | null;
  /** With a time of the alarm: what the id of the object was made from, for the event of the alarm. */
  readonly m?: string;
  /** The writes by SQL belong to it. */
  readonly x?: boolean;
  /** No answer waits for it. */
  readonly u?: true;
}
