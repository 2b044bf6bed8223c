/**
 * The isolate's end of a connection, which can also be read while the thread stands still: a call whose answer the function gets at once. Nothing that was
 * written may wait for the event loop then. So from the first such call on, `write()` returns after its bytes are out.
 */
import { readSync, writevSync } from 'node:fs';
import { Socket } from 'node:net';
import process from 'node:process';
import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import { portTransport, socketTransport, type Transport, type TransportReader } from './transport.js';

const READ_BYTES = 64 * 1024;
/** Shorter parts are copied. */
const COPIED_BYTES = 16 * 1024;
/** Parts of one system call. */
const PARTS_AT_ONCE = 512;
/** How long the thread sleeps while the connection takes nothing. */
const SLEEP_MS = 1;
/** The thread waits this long for the notice of a message, in case it was lost. */
const NOTICE_MS = 1000;

/** Node's handle of a socket: it can make the descriptor one that blocks, which is an attribute of this end alone. */
interface BlockableHandle {
  setBlocking(isBlocking: boolean): number;
}

/**
 * Opens an inherited descriptor, inside the isolate's thread.
 *
 * @param onTorn called with the next use after a read or a write that something else than the system has broken off, such as the end of the stack. Nobody
 *   knows then how much was read or written
 */
export function blockingDescriptorTransport(fd: number, onTorn: () => void): Transport {
  return new DescriptorTransport(fd, onTorn);
}

class DescriptorTransport implements Transport {
  readonly #fd: number;
  readonly #onTorn: () => void;
  /** Noted by a store alone, since no call has room at the end of the stack; the next call of the connection says it. */
  #isTorn = false;
  readonly #socket: Socket;
  readonly #usual: Transport;
  #reader: TransportReader | undefined;
  /** Chunks that were read during a write. */
  #early: Buffer[] = [];
  /** Set when the thread may stand still: nothing waits in the event loop to be written. */
  #handle: BlockableHandle | undefined;
  #sleep: Int32Array | undefined;
  #buffer: Buffer | undefined;

  constructor(fd: number, onTorn: () => void) {
    this.#fd = fd;
    this.#onTorn = onTorn;
    this.#socket = new Socket({ fd, readable: true, writable: true });
    this.#usual = socketTransport(this.#socket, false);
  }

  get isBackpressured(): boolean {
    return this.#usual.isBackpressured;
  }

  get unwrittenBytes(): number {
    return this.#usual.unwrittenBytes;
  }

  start(reader: TransportReader): void {
    this.#reader = reader;
    this.#usual.start({
      onRead: chunk => {
        this.#handEarly();
        reader.onRead(chunk);
      },
      onClose: () => {
        this.#handEarly();
        reader.onClose();
      },
      onDrain: () => reader.onDrain(),
    });
  }

  write(parts: readonly Buffer[]): void {
    if (this.#handle === undefined) this.#usual.write(parts);
    else this.#writeNow(parts);
  }

  pause(): void {
    this.#usual.pause();
  }

  resume(): void {
    this.#usual.resume();
  }

  close(): void {
    this.#usual.close();
  }

  beginBlocking(): boolean | undefined {
    if (this.#handle !== undefined) return true;
    const handle: unknown = Reflect.get(this.#socket, '_handle');
    if (!isBlockable(handle)) return undefined;
    if (this.#socket.writableLength > 0) return false;
    this.#handle = handle;
    return true;
  }

  readBlocking(): boolean {
    const handle = this.#handle;
    if (this.#isTorn) this.#onTorn();
    if (handle === undefined || this.#socket.destroyed) return false;
    if (this.#early.length > 0) {
      this.#handEarly();
      return true;
    }
    handle.setBlocking(true);
    let chunk: Buffer | undefined;
    try {
      chunk = this.#read();
    } finally {
      handle.setBlocking(false);
    }
    // The event loop finds the end of the connection by itself.
    if (chunk === undefined) return false;
    this.#reader?.onRead(chunk);
    return true;
  }

  #read(): Buffer | undefined {
    const buffer = this.#buffer ?? Buffer.allocUnsafeSlow(READ_BYTES);
    this.#buffer = buffer;
    try {
      const length = readSync(this.#fd, buffer, 0, READ_BYTES, null);
      if (length === 0) return undefined;
      if (length <= COPIED_BYTES) return Buffer.from(buffer.subarray(0, length));
      // The buffer is handed over with its bytes.
      this.#buffer = undefined;
      return buffer.subarray(0, length);
    } catch (error) {
      if (!(error instanceof Error && 'code' in error)) {
        this.#isTorn = true;
        throw error;
      }
      return isCode(error, 'EINTR') ? EMPTY : undefined;
    }
  }

  #writeNow(parts: readonly Buffer[]): void {
    if (this.#isTorn) this.#onTorn();
    let rest = parts.filter(part => part.length > 0);
    while (rest.length > 0) {
      let written: number;
      try {
        written = writevSync(this.#fd, rest.slice(0, PARTS_AT_ONCE));
      } catch (error) {
        if (!(error instanceof Error && 'code' in error)) {
          this.#isTorn = true;
          throw error;
        }
        if (isCode(error, 'EINTR')) continue;
        if (!isCode(error, 'EAGAIN')) {
          this.#socket.destroy();
          return;
        }
        this.#awaitRoom();
        continue;
      }
      rest = after(rest, written);
    }
  }

  /** The other end reads nothing now, maybe because it waits for this one to read. */
  #awaitRoom(): void {
    const buffer = Buffer.allocUnsafeSlow(READ_BYTES);
    try {
      const length = readSync(this.#fd, buffer, 0, READ_BYTES, null);
      if (length > 0) {
        if (this.#early.length === 0) setImmediate(() => this.#handEarly());
        this.#early.push(buffer.subarray(0, length));
        return;
      }
    } catch (error) {
      // There is nothing to read either; what else is wrong shows when it is written.
      if (!(error instanceof Error && 'code' in error)) {
        this.#isTorn = true;
        throw error;
      }
    }
    this.#sleep ??= new Int32Array(new SharedArrayBuffer(4));
    Atomics.wait(this.#sleep, 0, 0, SLEEP_MS);
  }

  #handEarly(): void {
    if (this.#early.length === 0) return;
    const early = this.#early;
    this.#early = [];
    for (const chunk of early) this.#reader?.onRead(chunk);
  }
}

const EMPTY = Buffer.alloc(0);

function isBlockable(handle: unknown): handle is BlockableHandle {
  return (
    typeof handle === 'object' &&
    handle !== null &&
    'setBlocking' in handle &&
    typeof handle.setBlocking === 'function' &&
    // Pipes of Windows wait for their reads to be over.
    process.platform !== 'win32'
  );
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}

function after(parts: readonly Buffer[], bytes: number): Buffer[] {
  let left = bytes;
  let at = 0;
  for (let part = parts[at]; part !== undefined && left >= part.length; part = parts[at]) {
    left -= part.length;
    at++;
  }
  const first = parts[at];
  return first === undefined ? [] : [first.subarray(left), ...parts.slice(at + 1)];
}

/** @param notices counts the messages of the other end, which wakes those who wait for one */
export function blockingPortTransport(port: MessagePort, notices: Int32Array): Transport {
  let reader: TransportReader | undefined;
  const usual = portTransport(port);
  return {
    ...usual,
    start(listener) {
      reader = listener;
      usual.start(listener);
    },
    beginBlocking: () => true,
    readBlocking() {
      for (;;) {
        const seen = Atomics.load(notices, COUNT);
        const received = receiveMessageOnPort(port);
        if (received !== undefined) {
          const { message }: { readonly message: unknown } = received;
          if (message instanceof Uint8Array)
            reader?.onRead(Buffer.from(message.buffer, message.byteOffset, message.byteLength));
          return true;
        }
        if (Atomics.load(notices, IS_CLOSED) === 1) return false;
        Atomics.wait(notices, COUNT, seen, NOTICE_MS);
      }
    },
  };
}

const COUNT = 0;
const IS_CLOSED = 1;

export function newNotices(): Int32Array<SharedArrayBuffer> {
  return new Int32Array(new SharedArrayBuffer(8));
}

/** The host's end of a port whose other end may stand still and wait for a message. */
export function noticingPortTransport(port: MessagePort, notices: Int32Array): Transport {
  const usual = portTransport(port);
  return {
    ...usual,
    write(parts) {
      usual.write(parts);
      Atomics.add(notices, COUNT, 1);
      Atomics.notify(notices, COUNT);
    },
    close() {
      usual.close();
      Atomics.store(notices, IS_CLOSED, 1);
      Atomics.add(notices, COUNT, 1);
      Atomics.notify(notices, COUNT);
    },
  };
}
