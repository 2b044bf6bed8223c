/** node:stream/promises. */
import stream from './stream.ts';

export default stream.promises;
