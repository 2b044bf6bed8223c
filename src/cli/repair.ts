/** `edgehost repair`: saves what can be read of a damaged storage directory. */
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { type RepairStep, repairStorage, type StorageRepairReport } from '../host/repair-storage.js';
import type { Syntax } from './terminal/arguments.js';
import { CommandError, command, textOf } from './terminal/command.js';

const SYNTAX = {
  name: 'repair',
  paths: 'DIR',
  count: { min: 1, max: 1 },
  about: `Saves what can be read of a storage directory that a host refuses to open with EDGE_STORAGE_CORRUPT. No host may
have it open. Files of its databases that are damaged or replaced are moved to a folder "lost" beside them. Records
can be lost, deleted ones can reappear, and bodies that no record names any more are removed: copy the directory
first, or let --copy do it.`,
  options: {
    copy: { kind: 'text', value: 'NEW', text: 'copy the directory to this one first, which must not exist' },
    json: { kind: 'flag', text: 'the result as JSON' },
  },
  examples: ['edgehost repair data --copy data.damaged'],
} as const satisfies Syntax;

export const REPAIR = command(SYNTAX, async ({ values, paths }, io) => {
  const directory = paths[0] ?? '';
  const report = (text: string): void => {
    if (!values.json) io.out(`${text}\n`);
  };
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
  for (const { name, movedFiles } of databases) {
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

function sumText({ bytes, objects }: StorageRepairReport['recounted'][number]['after']): string {
  return `${bytes} bytes in ${objects} objects`;
}

async function copyTo(directory: string, copy: string): Promise<void> {
  try {
    await cp(directory, copy, { recursive: true, errorOnExist: true, force: false, preserveTimestamps: true });
  } catch (error) {
    throw new CommandError(1, `Cannot copy ${directory} to ${copy}, and nothing was repaired: ${textOf(error)}`, {
      cause: error,
    });
  }
}
