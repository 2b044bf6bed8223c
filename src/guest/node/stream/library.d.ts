/** The libraries bring types of Node, which this realm has not. */
declare module 'readable-stream-4' {
  const stream: { readonly Transform: unknown; readonly Writable: unknown; readonly [name: string]: unknown };
  export default stream;
}
declare module 'string_decoder/' {
  export class StringDecoder {
    constructor(encoding?: string);
    write(bytes: Uint8Array): string;
    end(bytes?: Uint8Array): string;
  }
}
