/** An application whose launcher has started cells; it says which processes those are, and stays. */
import process from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';
import { ProcessCell } from '../../../../src/pool/host/process-cell.js';
import { Launcher } from '../../../../src/pool/launcher/launcher.js';
import { sandboxFor } from '../../../../src/pool/sandbox/sandbox.js';

const CELLS = 3;
const sandbox = await sandboxFor(process.argv[2] === 'off' ? 'off' : 'auto');
const launcher = new Launcher();
while (!launcher.isUp) {
  launcher.isWanted();
  await delay(5);
}
const options = { maxThreads: 2, heapBytes: 64 * 1024 * 1024, cellMemoryBytes: 512 * 1024 * 1024 };
const events = { onLeaseEnd() {}, onLongTurn() {}, onTerminationOverdue() {}, onExit() {} };
const cells = Array.from({ length: CELLS }, () => new ProcessCell(options, events, sandbox, { launcher }));
await Promise.all(cells.map(({ ready }) => ready));
process.stdout.write(JSON.stringify({ launcher: launcher.pid, cells: CELLS }));
