/** Takes the first line of a connection, and leaves what follows for another reader. */
import type { Socket } from 'node:net';
import process from 'node:process';
import { guarded } from '../../quotas/guarded.js';

const NEWLINE = 0x0a;

export interface LineBounds {
  /** Without the newline. */
  readonly maxBytes: number;
  readonly withinMs: number;
}

/**
 * Resolves with the line, without its newline; the socket then is as if nobody had read it. Resolves with undefined when the connection ends, the line is too
 * long or does not come in time; the socket is destroyed then.
 */
export function takeLine(socket: Socket, { maxBytes, withinMs }: LineBounds): Promise<string | undefined> {
  return new Promise(resolve => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const timer = setTimeout(
      guarded(() => fail()),
      withinMs,
    );
    const onReadable = guarded((): void => {
      for (let chunk: Buffer | null = socket.read(); chunk !== null; chunk = socket.read()) {
        const at = chunk.indexOf(NEWLINE);
        const part = at < 0 ? chunk : chunk.subarray(0, at);
        bytes += part.length;
        chunks.push(part);
        if (bytes > maxBytes) fail();
        else if (at >= 0) finish(chunk.subarray(at + 1));
        if (bytes > maxBytes || at >= 0) return;
      }
    });
    const stop = (): void => {
      clearTimeout(timer);
      socket.off('readable', onReadable);
      socket.off('end', fail);
      socket.off('close', fail);
    };
    const finish = (rest: Buffer): void => {
      stop();
      if (rest.length > 0) socket.unshift(rest);
      // In the next tick a socket without such a listener is one that flows when somebody listens for its data.
      process.nextTick(resolve, Buffer.concat(chunks).toString('utf8'));
    };
    const fail = guarded((): void => {
      stop();
      socket.destroy();
      resolve(undefined);
    });
    socket.on('readable', onReadable);
    socket.on('end', fail);
    socket.on('close', fail);
  });
}
