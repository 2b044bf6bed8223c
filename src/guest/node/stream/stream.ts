/** node:stream: the library readable-stream, which is made of Node's own code. */
import stream from 'readable-stream-4';

export default stream;
