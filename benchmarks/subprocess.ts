/** Programs of the harness in processes of their own: servers that are measured and the load that measures them. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { BenchmarkContext } from './benchmark.js';

export interface RunningServer {
  readonly url: string;
  readonly pid: number;
  /** Processes that the server has started. */
  readonly children: readonly number[];
  /** For a program that answers messages (servers/worker.ts), one after the other. */
  ask(...args: readonly (string | number)[]): Promise<string>;
  stop(): Promise<void>;
}

/**
 * Starts `servers/<program>.js`, which sends `{ port, children }` when it listens and ends when it is disconnected. It is stopped with
 * the benchmark at the latest.
 */
export async function startServer(
  context: Pick<BenchmarkContext, 'defer'>,
  program: string,
  args: readonly string[] = [],
): Promise<RunningServer> {
  const child = fork(fileURLToPath(new URL(`./servers/${program}.js`, import.meta.url)), args, {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const stop = (): Promise<void> => end(child);
  context.defer(stop);
  const [ready] = await Promise.race([once(child, 'message'), once(child, 'exit').then(() => [undefined])]);
  const { port, children } = parseReady(program, ready);
  return { url: `http://127.0.0.1:${port}/`, pid: child.pid ?? 0, children, ask: (...args) => ask(child, args), stop };
}

function parseReady(program: string, message: unknown): { port: number; children: number[] } {
  if (typeof message === 'object' && message !== null && 'port' in message && typeof message.port === 'number') {
    const children = 'children' in message && Array.isArray(message.children) ? message.children.map(Number) : [];
    return { port: message.port, children };
  }
  throw new Error(`The server program ${program} ended before it listened`);
}

async function ask(child: ChildProcess, args: readonly (string | number)[]): Promise<string> {
  const answered = once(child, 'message');
  child.send([...args]);
  const [message] = await answered;
  return String(Reflect.get(message, 'answer'));
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  if (child.connected) child.disconnect();
  const timer = setTimeout(() => child.kill('SIGKILL'), 10_000);
  await gone;
  clearTimeout(timer);
}
