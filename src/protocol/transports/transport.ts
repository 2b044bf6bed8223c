/** The transport of a channel: an inherited socket pair, or a MessagePort when isolates run in the host process. */
import { Socket } from 'node:net';
import type { MessagePort } from 'node:worker_threads';

export interface TransportReader {
  onRead(chunk: Buffer): void;
  /** Called once, however the connection ended. */
  onClose(): void;
  /** The bytes that waited to be written have been written. */
  onDrain(): void;
}

export interface Transport {
  start(reader: TransportReader): void;
  /** The buffers must stay unchanged. */
  write(parts: readonly Buffer[]): void;
  /** Whether enough bytes wait to be written that writers should wait for `onDrain`. */
  readonly isBackpressured: boolean;
  /** Bytes that wait to be written. */
  readonly unwrittenBytes: number;
  /** Reads no more until `resume`. Bytes that were read already may still arrive. */
  pause(): void;
  resume(): void;
  close(): void;
  /**
   * From now on writes go out at once, so that the thread may stand still. False when it may not now, undefined when it never may. Only at an isolate's end
   * (blocking-transport.ts).
   */
  beginBlocking?(): boolean | undefined;
  /** Stands still until something has come, and hands it to the reader. False when the connection has ended. */
  readBlocking?(): boolean;
}

/**
 * When more than this waits to be written, the host reads no more from a cell and hands it no more of bodies: a cell that only sends
 * requests and never reads delays itself alone, and the data for an isolate that is busy for long does not fill the host's memory.
 */
const MAX_UNWRITTEN_BYTES = 8 * 1024 * 1024;

/** `isBounded` at the host's end alone: if both ends stopped reading for the other's sake, neither would continue. */
export function socketTransport(socket: Socket, isBounded: boolean): Transport {
  let onDrain = (): void => {};
  let isBackpressured = false;
  let isPaused = false;
  let waitsForDrain = false;
  const written = (): void => {
    waitsForDrain = false;
    if (isBackpressured) {
      isBackpressured = false;
      if (!isPaused) socket.resume();
    }
    onDrain();
  };
  const watchUnwritten = (): void => {
    if (!socket.writableNeedDrain) return;
    if (!waitsForDrain) {
      waitsForDrain = true;
      socket.once('drain', written);
    }
    if (!isBounded || isBackpressured || socket.writableLength <= MAX_UNWRITTEN_BYTES) return;
    isBackpressured = true;
    socket.pause();
  };
  return {
    get isBackpressured() {
      return isBackpressured;
    },
    // Fewer bytes than the socket's high-water mark count as none: they are written a moment later, and no event would report that.
    get unwrittenBytes() {
      return socket.writableNeedDrain ? socket.writableLength : 0;
    },
    pause() {
      isPaused = true;
      socket.pause();
    },
    resume() {
      isPaused = false;
      if (!isBackpressured) socket.resume();
    },
    start(reader) {
      onDrain = () => reader.onDrain();
      socket.on('data', chunk => reader.onRead(chunk));
      socket.on('error', () => {}); // 'close' follows
      socket.on('close', () => reader.onClose());
      socket.on('end', () => socket.destroy());
    },
    write(parts) {
      if (parts.length === 1 && parts[0] !== undefined) {
        socket.write(parts[0]);
      } else {
        socket.cork();
        for (const part of parts) socket.write(part);
        socket.uncork();
      }
      watchUnwritten();
    },
    close() {
      socket.end();
      socket.destroySoon();
    },
  };
}

/** Opens an inherited descriptor, inside the isolate's thread. */
export function descriptorTransport(fd: number): Transport {
  return socketTransport(new Socket({ fd, readable: true, writable: true }), false);
}

export function portTransport(port: MessagePort): Transport {
  return {
    isBackpressured: false,
    unwrittenBytes: 0,
    // Messages of a port cannot be held back; their reader keeps them.
    pause() {},
    resume() {},
    start(reader) {
      port.on('message', (message: unknown) => {
        if (message instanceof Uint8Array)
          reader.onRead(Buffer.from(message.buffer, message.byteOffset, message.byteLength));
      });
      port.on('close', () => reader.onClose());
    },
    write(parts) {
      // A copy of its own: posting a view would clone the whole buffer behind it.
      let length = 0;
      for (const part of parts) length += part.length;
      const whole = new Uint8Array(length);
      let at = 0;
      for (const part of parts) {
        whole.set(part, at);
        at += part.length;
      }
      port.postMessage(whole, [whole.buffer]);
    },
    close() {
      port.close();
    },
  };
}
