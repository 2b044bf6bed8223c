/** One end of a connection: it writes far more than a connection holds, and stands still until it has read what the other end sends meanwhile. */
import process from 'node:process';
import { blockingDescriptorTransport } from '../../../src/protocol/transports/blocking-transport.js';

const [written = 0, expected = 0] = process.argv.slice(2).map(Number);
const transport = blockingDescriptorTransport(3, () => {});
let seen = 0;
let isInOrder = true;
let isDone = false;
transport.start({
  onRead: chunk => {
    for (const byte of chunk) if (byte !== seen++ % 251) isInOrder = false;
  },
  onClose: () => process.exit(isDone ? 0 : 1),
  onDrain: () => {},
});
if (transport.beginBlocking?.() !== true) process.exit(2);
for (let at = 0; at < written; ) {
  const parts = [1000, 1, 60_000].map(length => Buffer.from(Array.from({ length }, (_, i) => (at + i) % 251)));
  for (const part of parts) at += part.length;
  let from = at - 61_001;
  for (const part of parts) for (let i = 0; i < part.length; i++) part[i] = from++ % 251;
  transport.write(parts);
}
while (seen < expected) if (transport.readBlocking?.() !== true) process.exit(3);
transport.write([Buffer.from([isInOrder ? 255 : 254])]);
isDone = true;
transport.close();
