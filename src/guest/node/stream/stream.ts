/** node:stream: the library readable-stream, which is made of Node's own code. */
import stream from 'readable-stream-4/lib/stream.js';
import { duplexPair } from './duplex-pair.ts';
import { duplexOfWeb, readableOfWeb, webOfDuplex, webOfReadable, webOfWritable, writableOfWeb } from './web-streams.ts';

// The library has them without the streams of the web.
Object.assign(stream.Readable, { toWeb: webOfReadable, fromWeb: readableOfWeb });
Object.assign(stream.Writable, { toWeb: webOfWritable, fromWeb: writableOfWeb });
Object.assign(stream.Duplex, { toWeb: webOfDuplex, fromWeb: duplexOfWeb });
// The bundler may give them other names, and errors tell them.
const { Readable, Writable, Duplex, Transform, PassThrough } = stream;
for (const [name, value] of Object.entries({ Readable, Writable, Duplex, Transform, PassThrough }))
  Object.defineProperty(value, 'name', { value: name, configurable: true });
Object.assign(stream, { duplexPair, _isArrayBufferView: ArrayBuffer.isView });

export type { NodeDuplex, NodeReadable, NodeStream, NodeWritable } from 'readable-stream-4/lib/stream.js';
export default stream;
