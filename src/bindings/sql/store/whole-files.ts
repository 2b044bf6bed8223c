/** Files of whole databases on their way: copies that are being read, and received files to restore or import. They are temporary. */
import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { detached, guarded } from '../../../quotas/guarded.js';
import { SQL_LIMITS } from '../../../sqlite/limits.js';
import { SqlError } from '../errors.js';

const CHUNK_BYTES = 256 * 1024;

/** Bounds what one account has of such files at once: they take as much space as its databases, and are not charged to it. */
export class WholeFiles {
  #open = 0;

  /** @returns what gives the place back, which may be called again. @throws SqlError 30004 */
  enter(): () => void {
    if (this.#open >= SQL_LIMITS.wholeFiles) {
      throw new SqlError(
        30004,
        `${this.#open} exports, backups, imports and restores of the account are in progress, at most ${SQL_LIMITS.wholeFiles} may be`,
      );
    }
    this.#open++;
    let isOpen = true;
    return () => {
      if (isOpen) this.#open--;
      isOpen = false;
    };
  }
}

/**
 * The bytes of a copy, which is made when they are first asked for. It is removed when they were read, and when whoever reads them takes too long.
 *
 * @param remove may be called twice
 */
export async function* readWhole(
  path: string,
  make: () => Promise<unknown>,
  remove: () => Promise<void>,
): AsyncGenerator<Uint8Array> {
  const tooSlow = new AbortController();
  const timer = setTimeout(
    guarded(() => {
      tooSlow.abort(new SqlError(30005, 'The copy of the database was not read in time'));
      detached(remove());
    }),
    SQL_LIMITS.maintenanceMs,
  ).unref();
  try {
    await make();
    tooSlow.signal.throwIfAborted();
    yield* createReadStream(path, { highWaterMark: CHUNK_BYTES, signal: tooSlow.signal });
  } finally {
    clearTimeout(timer);
    await remove();
  }
}

/** Writes the received bytes into a new file, and syncs it. Rejects with 30001 when it is more than allowed. @returns its bytes */
export async function writeWhole(
  content: AsyncIterable<Uint8Array> | Uint8Array,
  path: string,
  allowed: number,
): Promise<number> {
  const file = await open(path, 'wx', 0o600);
  let size = 0;
  try {
    for await (const chunk of content instanceof Uint8Array ? [content] : content) {
      size += chunk.byteLength;
      if (size > allowed) throw new SqlError(30001, `The content is larger than the ${allowed} bytes that it may have`);
      await file.writeFile(chunk);
    }
    await file.sync();
  } finally {
    await file.close();
  }
  return size;
}
