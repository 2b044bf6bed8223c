/** Answers each request with as many bytes as the first argument says, as fast as they are read. */
import process from 'node:process';
import { Readable } from 'node:stream';
import { byteStream } from '../measuring/byte-stream.js';
import { listen } from './listen.js';

const bytes = Number(process.argv[2]);

listen((_request, response) => {
  Readable.from(byteStream(bytes)).pipe(response);
});
