#!/usr/bin/env node
/** What `edgehost` starts in a terminal. */
import process from 'node:process';
import { runEdgehost } from './edgehost.js';

// A reader that has seen enough, such as head, closes the pipe.
process.stdout.on('error', () => process.exit());

process.exitCode = await runEdgehost(process.argv.slice(2), {
  out: text => process.stdout.write(text),
  err: text => process.stderr.write(text),
  isTerminal: process.stdout.isTTY === true,
  now: () => new Date(),
});
