/** Messages about databases of objects, in the frames of frames.ts. Each request is answered, in order. */

export type ObjectRequest =
  /** Payload: its pages. Without any it is a new database. */
  | { readonly op: 'open'; readonly path: string }
  /** Payload: JSON of the text and its values. `layers`: the transactions within the batch that are open, by number. */
  | { readonly op: 'exec'; readonly path: string; readonly layers: readonly number[]; readonly maxBytes: number }
  /** Undoes all writes since the transaction of this number began; 0: everything that was not committed. */
  | { readonly op: 'rollback'; readonly path: string; readonly layer: number }
  /** The answer has the pages that have changed. */
  | { readonly op: 'commit'; readonly path: string; readonly maxPages: number };

export interface ObjectResponse {
  /** Processor time, in microseconds. */
  readonly cpuUs: number;
  /** The size of the database, in pages. */
  readonly pages: number;
  /** Something is written that was not committed. */
  readonly isDirty: boolean;
  /** The payload is the text of an error. */
  readonly isFailure?: true;
  /** The failure has undone all earlier writes. */
  readonly isLost?: true;
}

/** The result of a text, as JSON. */
export interface SqlRows {
  /** The names of the columns. */
  readonly c: readonly string[];
  /** Rows; a BLOB is an array of numbers. */
  readonly r: readonly (readonly unknown[])[];
  /** Rows that were written. */
  readonly w: number;
}

export const PAGE_BYTES = 4096;
/** The size of a page in a payload: its number from 1, little-endian, and its bytes. */
export const PAGE_RECORD_BYTES = 4 + PAGE_BYTES;
