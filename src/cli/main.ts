#!/usr/bin/env node
/** The executable `edgehost`. */
import process from 'node:process';
import { runEdgehost } from './edgehost.js';

// A reader that has seen enough, such as head, closes the pipe.
process.stdout.on('error', () => process.exit());

let stop: AbortController | undefined;

process.exitCode = await runEdgehost(process.argv.slice(2), {
  out: text => process.stdout.write(text),
  err: text => process.stderr.write(text),
  isTerminal: process.stdout.isTTY === true,
  now: () => new Date(),
  env: process.env,
  stopSignal: () => {
    stop ??= stopOnSignals();
    return stop.signal;
  },
});

function stopOnSignals(): AbortController {
  const controller = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    // After the first one the signal does again what it does by default.
    process.once(signal, () => controller.abort(signal));
  }
  return controller;
}
