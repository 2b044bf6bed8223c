/**
 * A host that is going to be killed: starts native code that stays when its sockets are closed, and prints the number of its process. Arguments: the
 * compiled intruder, and names of programs that are not to be used.
 */
import process from 'node:process';
import { findPrograms } from '../../../src/pool/sandbox/programs.js';
import { probe } from '../../../src/pool/sandbox/sandbox.js';
import { startIntruder, waitingPid } from './intrude.js';

const [, , path = '', ...without] = process.argv;
const programs = { ...findPrograms(), ...Object.fromEntries(without.map(name => [name, undefined])) };
const inmate = startIntruder(await probe(programs), path, ['stay=']);
inmate.finished.catch(() => {});
console.log(await waitingPid(inmate));
