/** The library brings types of Node, which this realm has not. */
declare module 'readable-stream-4/lib/stream.js' {
  type Done = (error?: unknown) => void;
  type Listener = (...args: never[]) => void;

  export interface NodeStream {
    readonly destroyed: boolean;
    readonly errored: unknown;
    destroy(error?: unknown): this;
    on(event: string, listener: Listener): this;
    once(event: string, listener: Listener): this;
    off(event: string, listener: Listener): this;
    removeListener(event: string, listener: Listener): this;
    emit(event: string, ...args: unknown[]): boolean;
  }
  export interface NodeReadable extends NodeStream, AsyncIterable<unknown> {
    readonly readableEnded: boolean;
    readonly readableObjectMode: boolean;
    readonly readableHighWaterMark: number;
    readonly readableEncoding: string | null;
    push(chunk: unknown, encoding?: string): boolean;
    read(size?: number): unknown;
    pause(): this;
    resume(): this;
    isPaused(): boolean;
    setEncoding(encoding: string): this;
  }
  export interface NodeWritable extends NodeStream {
    readonly writableEnded: boolean;
    readonly writableFinished: boolean;
    readonly writableNeedDrain: boolean;
    readonly writableObjectMode: boolean;
    readonly writableHighWaterMark: number;
    write(chunk: unknown, encoding?: unknown, callback?: unknown): boolean;
    end(chunk?: unknown, encoding?: unknown, callback?: unknown): this;
    setDefaultEncoding(encoding: unknown): this;
    cork(): void;
    uncork(): void;
  }
  export interface NodeDuplex extends NodeReadable, NodeWritable {}

  /** The constructors are functions of old style, which code also calls without `new`. */
  export interface StreamClass<Instance> {
    new (options?: object): Instance;
    readonly prototype: Instance;
    toWeb: unknown;
    fromWeb: unknown;
  }
  interface Library {
    readonly Readable: StreamClass<NodeReadable> & { from(source: unknown, options?: object): NodeReadable };
    readonly Writable: StreamClass<NodeWritable>;
    readonly Duplex: StreamClass<NodeDuplex>;
    readonly Transform: StreamClass<NodeDuplex>;
    readonly PassThrough: StreamClass<NodeDuplex>;
    finished(stream: unknown, options: object, callback: Done): () => void;
    destroy(stream: unknown, error?: unknown): void;
    isDestroyed(stream: unknown): boolean | null;
    isReadable(stream: unknown): boolean | null;
    isWritable(stream: unknown): boolean | null;
    readonly promises: object;
  }
  const stream: Library;
  export default stream;
}
