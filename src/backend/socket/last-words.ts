/**
 * The exit report of a backend process, read from its standard error, which is a file beside its socket. It holds the reason of its end. A pipe would reach the
 * application alone that has started it, and end with that.
 */
import { closeSync, constants, fstatSync, openSync, readdirSync, readSync, renameSync, unlinkSync } from 'node:fs';
import { stripVTControlCharacters } from 'node:util';
import { PRIVATE_FILE_MODE } from '../../storage/files/private-directory.js';
import type { SocketDirectory } from './socket-directory.js';

const ENDING = '.words';
/** The read part at the end of the file: V8 prints why it ends before a table of the stack. */
const MAX_READ_BYTES = 16 * 1024;
const MAX_CHARACTERS = 2048;

/** One open file with the words of a process. It can be read also when its name is gone. */
export class LastWords {
  readonly fd: number;
  #isClosed = false;

  private constructor(fd: number) {
    this.fd = fd;
  }

  /** For a process that is about to start. */
  static create(directory: SocketDirectory, name: string): LastWords {
    const flags = constants.O_RDWR | constants.O_CREAT | constants.O_EXCL | constants.O_APPEND;
    return new LastWords(openSync(directory.file(name + ENDING), flags, PRIVATE_FILE_MODE));
  }

  /** The report of a process that answers; undefined when it is gone. */
  static of(directory: SocketDirectory, pid: number): LastWords | undefined {
    try {
      return new LastWords(openSync(directory.file(pid + ENDING), constants.O_RDONLY | constants.O_NOFOLLOW));
    } catch {
      return undefined;
    }
  }

  /** The last 16 KiB. */
  read(): string {
    if (this.#isClosed) return '';
    try {
      const { size } = fstatSync(this.fd);
      const bytes = Buffer.alloc(Math.min(size, MAX_READ_BYTES));
      const read = readSync(this.fd, bytes, 0, bytes.length, size - bytes.length);
      return bytes.toString('utf8', 0, read);
    } catch {
      return '';
    }
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    closeSync(this.fd);
  }
}

/** The most informative line, made safe for terminals and logs. */
export function summaryOf(words: string): string {
  const fatal = /^FATAL ERROR: .*$/m.exec(words)?.[0];
  return stripVTControlCharacters(fatal ?? words)
    .replace(/[\p{C}\p{Z}]+/gu, ' ')
    .trim()
    .slice(0, MAX_CHARACTERS);
}

/** In the process, when it has the storage: its report is found by its id from now on, and earlier reports are removed. */
export function keepOwnWords(directory: SocketDirectory, name: string, pid: number): void {
  const own = pid + ENDING;
  quietly(() => renameSync(directory.file(name + ENDING), directory.file(own)));
  for (const entry of wordsIn(directory)) if (entry !== own) quietly(() => unlinkSync(directory.file(entry)));
}

export function removeWords(directory: SocketDirectory, name: string | number): void {
  quietly(() => unlinkSync(directory.file(name + ENDING)));
}

/** The ids of processes that have had the storage and left their words: at most one of them runs. */
export function pidsWithWords(directory: SocketDirectory): number[] {
  return wordsIn(directory).flatMap(entry => (/^\d+\.words$/.test(entry) ? [Number.parseInt(entry, 10)] : []));
}

function wordsIn(directory: SocketDirectory): string[] {
  try {
    return readdirSync(directory.file('.')).filter(entry => entry.endsWith(ENDING));
  } catch {
    return [];
  }
}

/** The words are a help; without them everything else works. */
function quietly(act: () => void): void {
  try {
    act();
  } catch {
    // See above.
  }
}
