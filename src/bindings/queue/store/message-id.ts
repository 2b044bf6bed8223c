import { randomFillSync } from 'node:crypto';

const ID_BYTES = 16;
/** A call of the generator for many ids costs as much as for one. */
const IDS = 256;

const pool = Buffer.alloc(ID_BYTES * IDS);
let at = pool.length;

/** 32 hexadecimal digits that nobody can guess. */
export function newMessageId(): string {
  if (at === pool.length) {
    randomFillSync(pool);
    at = 0;
  }
  const id = pool.toString('hex', at, at + ID_BYTES);
  at += ID_BYTES;
  return id;
}
