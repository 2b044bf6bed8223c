/** What functions fetch: `sink` reads and throws away, `source` sends without end, `coded` a gigabyte of zeros in two content codings. */
import process from 'node:process';
import { pipeline } from 'node:stream/promises';
import { brotliCompressSync, constants, createBrotliCompress } from 'node:zlib';
import { listen } from './listen.js';

const CODED_BYTES = 2 ** 30;
const PIECE_BYTES = 64 * 1024;

const [kind] = process.argv.slice(2);

if (kind === 'sink') {
  listen((request, response) => {
    request.resume();
    request.on('end', () => response.end('done'));
  });
} else if (kind === 'source') {
  // The same chunk again and again, so that this process does not slow the host down.
  const piece = Buffer.alloc(PIECE_BYTES, 'a');
  listen((_request, response) => {
    const send = (): void => {
      while (!response.destroyed && response.write(piece));
    };
    response.on('drain', send);
    send();
  });
} else if (kind === 'coded') {
  const body = await twiceCoded();
  listen((_request, response) => {
    response.writeHead(200, { 'content-encoding': 'br, br', 'content-length': body.length });
    response.end(body);
  });
} else throw new Error(`There is no target "${kind}", expected sink, source or coded`);

/** Once is some kilobytes. */
async function twiceCoded(): Promise<Buffer> {
  const params = { [constants.BROTLI_PARAM_QUALITY]: 1 };
  const coded: Buffer[] = [];
  await pipeline(zeros(), createBrotliCompress({ params }), async parts => {
    for await (const part of parts) coded.push(part);
  });
  return brotliCompressSync(Buffer.concat(coded), { params });
}

function* zeros(): Generator<Buffer> {
  const piece = Buffer.alloc(2 ** 20);
  for (let bytes = 0; bytes < CODED_BYTES; bytes += piece.length) yield piece;
}
