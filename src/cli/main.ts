#!/usr/bin/env node
/** The executable `edgehost`. */
import process from 'node:process';
import { runEdgehost } from './edgehost.js';
import { stopOnSignals, stopWithPackageManager } from './terminal/stop-signal.js';

// A reader that has seen enough, such as head, closes the pipe.
process.stdout.on('error', () => process.exit());

let stop: AbortController | undefined;

process.exitCode = await runEdgehost(process.argv.slice(2), {
  out: text => process.stdout.write(text),
  err: text => process.stderr.write(text),
  isTerminal: process.stdout.isTTY === true,
  now: () => new Date(),
  env: process.env,
  stopSignal: ({ isForeground = false } = {}) => {
    if (stop === undefined) {
      stop = new AbortController();
      stopOnSignals(stop);
      if (isForeground) stopWithPackageManager(stop);
    }
    return stop.signal;
  },
});
