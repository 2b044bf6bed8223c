/** Connects to the socket of a services process. */
import { connect, type Socket } from 'node:net';
import { EdgeError, errorCode } from '../../quotas/errors.js';
import type { SocketDirectory } from './socket-directory.js';

/** There is no process, or it is about to begin or to end. */
const NOBODY: ReadonlySet<string> = new Set(['ENOENT', 'ECONNREFUSED', 'ECONNRESET', 'EPIPE']);

/**
 * Resolves with 'none' when no process accepts connections now, and with 'busy' when so many wait already that no other may. Rejects with
 * EDGE_SERVICES_START for other errors of the system, for example without free descriptors.
 *
 * @param isForAnother nothing is read from the connection, whose descriptor another process gets
 */
export function dial(directory: SocketDirectory, isForAnother = false): Promise<Socket | 'none' | 'busy'> {
  return new Promise((resolve, reject) => {
    const socket = connect({ path: directory.socket });
    // It would be read from otherwise once it is connected, although nobody listens.
    if (isForAnother) socket.pause();
    const failed = (error: Error): void => {
      socket.destroy();
      const code = errorCode(error) ?? '';
      if (NOBODY.has(code)) resolve('none');
      else if (code === 'EAGAIN') resolve('busy');
      else reject(startError(directory.storage, error));
    };
    socket.once('error', failed);
    socket.once('connect', () => {
      socket.off('error', failed);
      socket.on('error', () => {}); // 'close' follows
      resolve(socket);
    });
  });
}

function startError(storage: string, cause: Error): EdgeError {
  return new EdgeError(
    'EDGE_SERVICES_START',
    `Cannot connect to the services process of the storage directory "${storage}": ${cause.message}`,
    { cause },
  );
}
