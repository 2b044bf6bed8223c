/**
 * One end of a connection whose first write is broken off as by the end of the stack. Exits with 70 when it is told that the writing was torn, and with 0
 * when the connection closes.
 */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import process from 'node:process';
import { blockingDescriptorTransport } from '../../../src/protocol/transports/blocking-transport.js';

const transport = blockingDescriptorTransport(3, () => process.exit(70));
transport.start({ onRead: () => {}, onClose: () => process.exit(0), onDrain: () => {} });
if (transport.beginBlocking?.() !== true) process.exit(2);
const { writevSync } = fs;
fs.writevSync = () => {
  throw new RangeError('Maximum call stack size exceeded');
};
syncBuiltinESMExports();
let isThrown = false;
try {
  transport.write([Buffer.from('a frame')]);
} catch (error) {
  isThrown = error instanceof RangeError;
}
fs.writevSync = writevSync;
syncBuiltinESMExports();
if (!isThrown) process.exitCode = 3;
setTimeout(() => transport.write([Buffer.from('another')]), 50);
