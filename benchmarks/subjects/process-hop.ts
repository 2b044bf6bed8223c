/** What a wall between two processes costs at least, whatever is behind it: a few bytes over a socket pair and back. */
import { spawn } from 'node:child_process';
import { Socket } from 'node:net';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import type { BenchmarkContext } from '../benchmark.js';

/** About as much as a small call. */
const MESSAGE = Buffer.alloc(64, 'a');

/** Starts the other process, which ends with the benchmark. Answers one round trip; they may not overlap. */
export function processHop(context: Pick<BenchmarkContext, 'defer'>): () => Promise<void> {
  const program = fileURLToPath(new URL('../servers/socket-echo.js', import.meta.url));
  const child = spawn(process.execPath, [program], { stdio: ['ignore', 'ignore', 'inherit', 'pipe'] });
  const socket = child.stdio[3];
  if (!(socket instanceof Socket)) throw new Error('The process has no socket');
  context.defer(() => socket.destroy());
  let received = 0;
  let onBack = (): void => {};
  socket.on('data', (bytes: Buffer) => {
    received += bytes.length;
    if (received < MESSAGE.length) return;
    received = 0;
    onBack();
  });
  return () =>
    new Promise(resolve => {
      onBack = resolve;
      socket.write(MESSAGE);
    });
}
