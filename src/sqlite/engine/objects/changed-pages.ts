/**
 * The pages that a transaction has changed: SQLite appends them to its write-ahead log, which is read behind each commit. The storage keeps pages, and the
 * file of a database is only where SQLite has them while it works. The format of the log: https://www.sqlite.org/fileformat2.html#the_write_ahead_log
 */
import { closeSync, fstatSync, openSync, readFileSync, readSync } from 'node:fs';
import { PAGE_BYTES } from './object-messages.js';

const LOG_HEAD_BYTES = 32;
const FRAME_HEAD_BYTES = 24;
const FRAME_BYTES = FRAME_HEAD_BYTES + PAGE_BYTES;
const FRAMES_AT_ONCE = 64;

export interface ChangedPages {
  /** The size of the database after the commit, in pages; undefined when nothing was committed. */
  readonly total: number | undefined;
  readonly pages: Map<number, Buffer>;
  /** Where the next transaction begins. */
  readonly end: number;
}

/** @param start where the log ended before; 0: at its beginning */
export function readChanges(path: string, start: number): ChangedPages {
  const pages = new Map<number, Buffer>();
  const file = openSync(`${path}-wal`, 'r');
  try {
    const size = fstatSync(file).size;
    const none = { total: undefined, pages, end: start };
    if (size < LOG_HEAD_BYTES) return none;
    const head = Buffer.allocUnsafe(LOG_HEAD_BYTES);
    readSync(file, head, 0, LOG_HEAD_BYTES, 0);
    let at = Math.max(start, LOG_HEAD_BYTES);
    const chunk = Buffer.allocUnsafeSlow(FRAMES_AT_ONCE * FRAME_BYTES);
    for (;;) {
      const length = readSync(file, chunk, 0, chunk.length, at);
      const frames = Math.floor(length / FRAME_BYTES);
      if (frames === 0) return none;
      for (let frame = 0; frame < frames; frame++) {
        const offset = frame * FRAME_BYTES;
        // Remains of an earlier log have other numbers here.
        if (chunk.compare(head, 16, 24, offset + 8, offset + 16) !== 0) return none;
        const number = chunk.readUInt32BE(offset);
        pages.set(number, Buffer.from(chunk.subarray(offset + FRAME_HEAD_BYTES, offset + FRAME_BYTES)));
        at += FRAME_BYTES;
        const total = chunk.readUInt32BE(offset + 4);
        if (total > 0) return { total, pages: withinSize(pages, total), end: at };
      }
    }
  } finally {
    closeSync(file);
  }
}

/** The pages of the file itself, which has those from before the log. */
export function readFilePages(path: string): Map<number, Buffer> {
  const bytes = readFileSync(path);
  const pages = new Map<number, Buffer>();
  for (let at = 0; at + PAGE_BYTES <= bytes.length; at += PAGE_BYTES)
    pages.set(at / PAGE_BYTES + 1, bytes.subarray(at, at + PAGE_BYTES));
  return pages;
}

function withinSize(pages: Map<number, Buffer>, total: number): Map<number, Buffer> {
  for (const number of pages.keys()) if (number > total) pages.delete(number);
  return pages;
}
