/** Connects to the socket of a backend process. */
import { connect, type Socket } from 'node:net';
import { EdgeError, errorCode } from '../../quotas/errors.js';
import { guarded } from '../../quotas/guarded.js';
import type { SocketDirectory } from './socket-directory.js';

/** The size of one read from a busy connection. */
const WIDE_READ_BYTES = 256 * 1024;

/** There is no process, or it is about to begin or to end. */
const NOBODY: ReadonlySet<string> = new Set(['ENOENT', 'ECONNREFUSED', 'ECONNRESET', 'EPIPE']);

/**
 * Resolves with 'none' when no process accepts connections now, and with 'busy' when its queue of connections is full. Rejects with EDGE_SERVICES_START for
 * other errors of the system, for example without free descriptors.
 *
 * @param purpose `descriptor`: nothing is read from the connection, whose descriptor another process gets; `bodies`: it moves much
 */
export function dial(
  directory: SocketDirectory,
  purpose: 'lines' | 'descriptor' | 'bodies' = 'lines',
): Promise<Socket | 'none' | 'busy'> {
  return new Promise((resolve, reject) => {
    const socket = purpose === 'bodies' ? connectWide(directory.socket) : connect({ path: directory.socket });
    // It would be read from otherwise once it is connected, although nobody listens.
    if (purpose === 'descriptor') socket.pause();
    const failed = guarded((error: Error): void => {
      socket.destroy();
      const code = errorCode(error) ?? '';
      if (NOBODY.has(code)) resolve('none');
      else if (code === 'EAGAIN') resolve('busy');
      else reject(startError(directory.storage, error));
    });
    socket.once('error', failed);
    socket.once(
      'connect',
      guarded(() => {
        socket.off('error', failed);
        socket.on('error', () => {}); // 'close' follows
        resolve(socket);
      }),
    );
  });
}

/**
 * A socket that is read in one buffer, from which its bytes are copied: node:net makes a buffer of 64 KiB for each read, and the collector runs for each
 * 64 MiB of them. It took half of the time of a body that is only passed on (measured, Node 20.20).
 */
function connectWide(path: string): Socket {
  const buffer = Buffer.allocUnsafeSlow(WIDE_READ_BYTES);
  const socket: Socket = connect({
    path,
    onread: { buffer, callback: bytes => socket.push(Buffer.from(buffer.subarray(0, bytes))) },
  });
  return socket;
}

function startError(storage: string, cause: Error): EdgeError {
  return new EdgeError(
    'EDGE_SERVICES_START',
    `Cannot connect to the backend process of the storage directory "${storage}": ${cause.message}`,
    { cause },
  );
}
