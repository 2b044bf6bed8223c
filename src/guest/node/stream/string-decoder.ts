/** node:string_decoder. */
import { StringDecoder } from 'string_decoder/';

export { StringDecoder };
export default { StringDecoder };
