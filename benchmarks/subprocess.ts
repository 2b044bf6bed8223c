/** Programs of the harness in processes of their own: servers that are measured and the load that measures them. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import type { BenchmarkContext } from './benchmark.js';

export interface RunningServer {
  readonly url: string;
  readonly pid: number;
  /** Processes that the server has started. */
  readonly children: readonly number[];
  /**
   * For a program that answers messages (servers/worker.ts, servers/answer-messages.ts), one after the other. Rejects with what it says
   * that went wrong, and with {@link ServerEnded} when it has ended.
   */
  ask(...args: readonly (string | number)[]): Promise<string>;
  stop(): Promise<void>;
}

/** A program that was to answer has ended. */
export class ServerEnded extends Error {
  constructor(program: string, { exitCode, signalCode }: ChildProcess) {
    super(`The server program ${program} has ended (${signalCode ?? `exit code ${exitCode}`})`);
  }
}

/** A program that starts the server with fewer rights. */
export interface ServerWrapper {
  /** The words before Node's. */
  readonly command: readonly string[];
  /** A file that it reads as descriptor 3. */
  readonly descriptor?: number;
}

/**
 * Starts `servers/<program>.js`, which sends `{ port, children }` when it listens and ends when it is disconnected. It is stopped with
 * the benchmark at the latest.
 */
export async function startServer(
  context: Pick<BenchmarkContext, 'defer'>,
  program: string,
  args: readonly string[] = [],
  execArgv: readonly string[] = [],
  { command: [wrapper, ...words] = [], descriptor }: ServerWrapper = { command: [] },
): Promise<RunningServer> {
  const child = fork(fileURLToPath(new URL(`./servers/${program}.js`, import.meta.url)), args, {
    stdio: ['ignore', 'ignore', 'inherit', descriptor ?? 'ignore', 'ipc'],
    execPath: wrapper ?? process.execPath,
    execArgv: wrapper === undefined ? [...execArgv] : [...words, process.execPath, ...execArgv],
  });
  const stop = (): Promise<void> => end(child);
  context.defer(stop);
  const [ready] = await Promise.race([once(child, 'message'), once(child, 'exit').then(() => [undefined])]);
  const { port, children } = parseReady(program, ready);
  const url = `http://127.0.0.1:${port}/`;
  return { url, pid: child.pid ?? 0, children, ask: (...args) => ask(program, child, args), stop };
}

function parseReady(program: string, message: unknown): { port: number; children: number[] } {
  if (typeof message === 'object' && message !== null && 'port' in message && typeof message.port === 'number') {
    const children = 'children' in message && Array.isArray(message.children) ? message.children.map(Number) : [];
    return { port: message.port, children };
  }
  throw new Error(`The server program ${program} ended before it listened`);
}

async function ask(program: string, child: ChildProcess, args: readonly (string | number)[]): Promise<string> {
  if (!isRunning(child)) throw new ServerEnded(program, child);
  const over = new AbortController();
  const answered = once(child, 'message', { signal: over.signal });
  const ended = once(child, 'exit', { signal: over.signal }).then(() => {
    throw new ServerEnded(program, child);
  });
  try {
    child.send([...args]);
    const [message]: unknown[] = await Promise.race([answered, ended]);
    if (typeof message !== 'object' || message === null) throw new Error(`${program} answered ${String(message)}`);
    if ('error' in message) throw new Error(`${program} could not ${args[0]}: ${message.error}`);
    return String('answer' in message ? message.answer : undefined);
  } finally {
    over.abort();
    // Whichever of them has not happened.
    for (const waiting of [answered, ended]) waiting.catch(() => {});
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (!isRunning(child)) return;
  const gone = once(child, 'exit');
  if (child.connected) child.disconnect();
  const timer = setTimeout(() => child.kill('SIGKILL'), 10_000);
  await gone;
  clearTimeout(timer);
}

function isRunning({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode === null && signalCode === null;
}
