/**
 * A host of its own, for tests that start it with fewer rights: intrudes into its own cells, and prints what it found. Arguments: the
 * compiled intruder, and its arguments. Behind a sandbox that is not complete there is a neighbour to attack.
 */
import process from 'node:process';
import { sandboxFor } from '../../../src/pool/sandbox/sandbox.js';
import { startIntruder, successes, waitingPid } from './intrude.js';

const [, , path = '', ...words] = process.argv;
const sandbox = await sandboxFor('auto');
const neighbour = startIntruder(sandbox, path, ['wait=']);
const over = neighbour.finished.catch(() => {});
const other = await waitingPid(neighbour);
const found = await startIntruder(sandbox, path, [...words, `host=${process.pid}`, `other=${other}`]).finished;
neighbour.kill();
await over;
process.stdout.write(JSON.stringify({ state: sandbox.state, done: successes(found) }));
// A claim on user numbers is for the life of the process.
process.exitCode = 0;
