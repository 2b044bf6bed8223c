/** An application that stands still from the moment in which its launcher was asked for a command. It says which process the launcher is. */
import { writeSync } from 'node:fs';
import process from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';
import { Launcher } from '../../../../src/pool/launcher/launcher.js';
import { sandboxFor } from '../../../../src/pool/sandbox/sandbox.js';
import { launchBehind } from '../../../../src/pool/sandbox/spawn.js';

const STAY = [process.execPath, '--eval', 'setInterval(() => {}, 1000)'];
const sandbox = await sandboxFor(process.argv[2] === 'off' ? 'off' : 'auto');
const launcher = new Launcher();
while (!launcher.isUp) {
  launcher.isWanted();
  await delay(5);
}
launchBehind(launcher, sandbox, STAY, ['ignore', 'ignore', 'pipe', 'pipe']);
writeSync(1, `${launcher.pid}`);
Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
