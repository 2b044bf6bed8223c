/** The main program of a backend process: it takes the storage of the directory that its command line names, and ends with its last application. */
import { writeSync } from 'node:fs';
import process from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { errorCode, messageOf } from '../../../quotas/errors.js';
import { dial } from '../../socket/dial.js';
import { keepOwnWords, removeWords } from '../../socket/last-words.js';
import { titleOf } from '../../socket/process-title.js';
import { FAILED_EXIT_CODE, failureLine, type ProcessSettings, parseSettings } from '../../socket/settings.js';
import { SocketDirectory } from '../../socket/socket-directory.js';
import { BackendLife, type BackendServer } from './backend-life.js';

/** How long to wait for a storage that another process has, which may be about to close it, or about to listen. */
const LOCKED_WITHIN_MS = 5000;
const LOOK_AGAIN_MS = 50;
const CLOSE_WITHIN_MS = 30_000;
const MAX_WORDS_CHARACTERS = 8192;
const STANDARD_ERROR = 2;
/**
 * The heap may grow to four times its live size before the slow collector runs, as in a process without a bound of the heap. With one of 512 MiB it is less
 * than twice, and buffers of bodies count, too: while bodies of 64 MB came and went, the collector ran every 11 MB, and its threads used more processor time
 * than everything else (measured, Node 20.20).
 */
const HEAP_GROWTH = '--heap-growing-percent=300';

/**
 * Opens the storage of a directory. Rejects with EDGE_STORAGE_LOCKED when another process has it, which decides between several that are started at
 * a time; it is called again then for a while.
 */
export type CreateServer = (directory: string) => Promise<BackendServer>;

/** Resolves when connections are accepted. Never rejects: the process ends, and what it writes last reaches the applications. */
export async function runBackend(createServer: CreateServer): Promise<void> {
  let life: BackendLife | undefined;
  setFlagsFromString(HEAP_GROWTH);
  process.umask(0o077);
  process.on('uncaughtException', endWithWords);
  process.on('unhandledRejection', endWithWords);
  // Ctrl-C and the end of a terminal end the applications, and their end ends this one.
  for (const signal of ['SIGINT', 'SIGHUP'] as const) process.on(signal, () => {});
  // A service manager sends it to all processes at once, and the applications still finish their work.
  process.on('SIGTERM', () => {
    if (life === undefined) process.exit(0);
    life.endSoon();
  });
  // Another process of the same user could open the inspector with it (rule R27).
  process.on('SIGUSR1', () => {});
  const [, , storage = '', text] = process.argv;
  const settings = parseSettings(text);
  process.title = titleOf(storage);
  try {
    const directory = await SocketDirectory.open(storage);
    const backend = await takeStorage(directory, settings, createServer);
    keepOwnWords(directory, settings.name, process.pid);
    life = new BackendLife(directory, settings, backend, () => void end(directory, backend));
    await life.listen();
  } catch (error) {
    const message = messageOf(error);
    say(failureLine({ code: errorCode(error) ?? '', message: message.slice(0, MAX_WORDS_CHARACTERS) }));
    process.exit(FAILED_EXIT_CODE);
  }
}

async function takeStorage(
  directory: SocketDirectory,
  { name }: ProcessSettings,
  createServer: CreateServer,
): Promise<BackendServer> {
  const until = performance.now() + LOCKED_WITHIN_MS;
  for (;;) {
    try {
      return await createServer(directory.storage);
    } catch (error) {
      if (errorCode(error) !== 'EDGE_STORAGE_LOCKED' || performance.now() > until) throw error;
    }
    const other = await dial(directory);
    if (other !== 'none') {
      if (other !== 'busy') other.destroy();
      removeWords(directory, name);
      process.exit(0);
    }
    await delay(LOOK_AGAIN_MS);
  }
}

async function end(directory: SocketDirectory, backend: BackendServer): Promise<void> {
  setTimeout(() => endWithWords(`The storage was not closed within ${CLOSE_WITHIN_MS} ms`), CLOSE_WITHIN_MS);
  await backend.close();
  removeWords(directory, process.pid);
  process.exit(0);
}

/** The state of the backend process is unknown, so nothing is closed: acknowledged writes are on disk. */
function endWithWords(error: unknown): void {
  const words = error instanceof Error ? (error.stack ?? error.message) : String(error);
  say(`Uncaught ${words.slice(0, MAX_WORDS_CHARACTERS)}\n`);
  process.exit(1);
}

function say(line: string): void {
  try {
    writeSync(STANDARD_ERROR, line);
  } catch {
    // The disk may be full.
  }
}
