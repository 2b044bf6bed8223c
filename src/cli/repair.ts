/** `edgehost repair`: saves what can be read of a damaged storage directory. */

import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { type RepairStep, repairStorage, type StorageRepairReport } from '../host/repair-storage.js';
import { messageOf } from '../quotas/errors.js';
import type { CheckProgress, StorageCheck } from '../storage/repair/check-storage.js';
import type { Syntax } from './terminal/arguments.js';
import { CommandError, type CommandIo, command, type ExitCode } from './terminal/command.js';

const SYNTAX = {
  name: 'repair',
  paths: 'DIR',
  count: { min: 1, max: 1 },
  about: `Saves what can be read of a storage directory that a host refuses to open with EDGE_STORAGE_CORRUPT. No host may
have it open. Files of its databases that are damaged or replaced are moved to a folder "lost" beside them. Records
can be lost, deleted ones can reappear, and bodies that no record names any more are removed: copy the directory
first, or let --copy do it.

With --check nothing is changed: it reads all records, bodies and SQL databases, compares their checksums, and
names each damaged one with its file. It ends with 1 when something is damaged, and with 0 when nothing is.`,
  options: {
    copy: { kind: 'text', value: 'NEW', text: 'copy the directory to this one first, which must not exist' },
    check: { kind: 'flag', text: 'read everything and report what is damaged; change nothing' },
    json: { kind: 'flag', text: 'the result as JSON' },
  },
  examples: ['edgehost repair data --check', 'edgehost repair data --copy data.damaged'],
} as const satisfies Syntax;

export const REPAIR = command(SYNTAX, async ({ values, paths }, io) => {
  const directory = paths[0] ?? '';
  const report = (text: string): void => {
    if (!values.json) io.out(`${text}\n`);
  };
  if (values.check) {
    if (values.copy !== undefined) throw new CommandError(2, 'Use --check or --copy: a check changes nothing');
    return check(directory, io, values.json);
  }
  if (values.copy !== undefined) {
    report(`copying ${directory} to ${values.copy}`);
    await copyTo(directory, values.copy);
  }
  const onStep = (step: RepairStep): void =>
    report(
      step.kind === 'repair'
        ? `repairing the database ${join(directory, step.database)}`
        : 'opening it, rebuilding its indexes and counting what accounts have stored',
    );
  const { databases, recounted } = await repairStorage(directory, { onStep });
  if (values.json) io.out(`${JSON.stringify({ directory, databases, recounted })}\n`);
  for (const { name, movedFiles, lostRecords } of databases) {
    if (lostRecords.length > 0) {
      report(`damaged records of ${name} that are in ${join(directory, name, 'lost', 'records.jsonl')} now:`);
      for (const key of lostRecords) report(`  ${JSON.stringify(key)}`);
    }
    if (movedFiles.length > 0)
      report(`files of ${name} that are in ${join(directory, name, 'lost')} now: ${movedFiles.join(', ')}`);
  }
  for (const { account, before, after } of recounted)
    report(
      `account ${account} stores ${sumText(after)}; ${before === null ? 'there was no sum' : `the sum was ${sumText(before)}`}`,
    );
  report('done: the directory can be opened');
  return 0;
});

/** The time between two lines of progress. */
const PROGRESS_MS = 2000;

async function check(directory: string, io: CommandIo, isJson: boolean): Promise<ExitCode> {
  let said = io.now().getTime();
  const onProgress = ({ records, bodies }: CheckProgress): void => {
    const now = io.now().getTime();
    if (now - said < PROGRESS_MS) return;
    said = now;
    io.err(`read ${records} records and ${bodies} bodies\n`);
  };
  const found = await repairStorage(directory, { check: true, onProgress });
  if (isJson) io.out(`${JSON.stringify({ directory, ...found })}\n`);
  else for (const line of checkLines(found)) io.out(`${line}\n`);
  return found.damaged.length === 0 ? 0 : 1;
}

function* checkLines({ damaged, records, bodies, unverified }: StorageCheck): Generator<string> {
  for (const { kind, path, keys, message } of damaged) {
    const names = keys.length === 0 ? '' : ` (${keys.map(key => JSON.stringify(key)).join(', ')})`;
    yield `damaged ${kind} ${path}${names}: ${message}`;
  }
  yield `read ${records} records and ${bodies} bodies: ${damaged.length === 0 ? 'nothing is damaged' : `${damaged.length} damaged`}`;
  if (unverified > 0) yield `${unverified} of them are of an earlier release and have no checksum`;
}

function sumText({ bytes, objects }: StorageRepairReport['recounted'][number]['after']): string {
  return `${bytes} bytes in ${objects} objects`;
}

async function copyTo(directory: string, copy: string): Promise<void> {
  try {
    await cp(directory, copy, { recursive: true, errorOnExist: true, force: false, preserveTimestamps: true });
  } catch (error) {
    throw new CommandError(1, `Cannot copy ${directory} to ${copy}, and nothing was repaired: ${messageOf(error)}`, {
      cause: error,
    });
  }
}
