#!/usr/bin/env node
/** The command `edgehost`. */

import { runAudit } from './audit/command.js';

const HELP = `Usage: edgehost <command> [options]

Commands
  audit   list calls of the management API that are gone or will be

edgehost <command> --help tells more.
`;

// A reader that has seen enough, such as head, closes the pipe.
process.stdout.on('error', () => process.exit());

const [command, ...args] = process.argv.slice(2);
if (command === 'audit') {
  process.exitCode = await runAudit(args, {
    out: text => process.stdout.write(text),
    err: text => process.stderr.write(text),
    isTerminal: process.stdout.isTTY === true,
    now: () => new Date(),
  });
} else if (command === undefined || command === 'help' || command === '--help' || command === '-h') {
  process.stdout.write(HELP);
} else {
  process.stderr.write(`edgehost: there is no command ${JSON.stringify(command)}\n${HELP}`);
  process.exitCode = 2;
}
