/** What carries the bytes of a channel: an inherited socket pair, or a MessagePort when isolates run in the host process. */
import { Socket } from 'node:net';
import type { MessagePort } from 'node:worker_threads';

export interface TransportReader {
  onRead(chunk: Buffer): void;
  /** Called once, however the connection ended. */
  onClose(): void;
}

export interface Transport {
  start(reader: TransportReader): void;
  /** The buffers must stay unchanged. */
  write(parts: readonly Buffer[]): void;
  close(): void;
}

export function socketTransport(socket: Socket): Transport {
  return {
    start(reader) {
      socket.on('data', chunk => reader.onRead(chunk));
      socket.on('error', () => {}); // 'close' follows
      socket.on('close', () => reader.onClose());
      socket.on('end', () => socket.destroy());
    },
    write(parts) {
      if (parts.length === 1 && parts[0] !== undefined) {
        socket.write(parts[0]);
        return;
      }
      socket.cork();
      for (const part of parts) socket.write(part);
      socket.uncork();
    },
    close() {
      socket.end();
      socket.destroySoon();
    },
  };
}

/** Opens an inherited descriptor, inside the isolate's thread. */
export function descriptorTransport(fd: number): Transport {
  return socketTransport(new Socket({ fd, readable: true, writable: true }));
}

export function portTransport(port: MessagePort): Transport {
  return {
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
