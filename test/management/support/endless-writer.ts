/** A process that changes records until it is killed; it prints a line after each change that was answered. */

import { createManagement } from '../../../src/management/management.js';
import { newNames, readAnswer, TOKEN, upload } from './api.js';
import { MemoryFunctions, memoryDirectories } from './memory-port.js';
import { openLevel } from './open-level.js';

const storage = openLevel(process.argv[2] ?? '');
const { fetch } = createManagement({
  storage,
  functions: new MemoryFunctions(),
  directoryOf: memoryDirectories(),
  names: newNames(),
  zoneOwnership: () => true,
  tokens: [{ name: 'all', token: TOKEN, account: 'acme', permissions: 'all' }],
  rateLimit: { requests: 1_000_000 },
});

async function send(method: string, path: string, body: FormData | string): Promise<string> {
  const headers = {
    authorization: `Bearer ${TOKEN}`,
    ...(typeof body === 'string' ? { 'content-type': 'application/json' } : {}),
  };
  const response = await fetch(new Request(`http://localhost${path}`, { method, headers, body }));
  return String((await readAnswer(response)).result.id);
}

const zone = await send('POST', '/zones', JSON.stringify({ name: 'example.com', account: { id: 'acme' } }));
for (let at = 0; ; at += 1) {
  const id = await send(
    'POST',
    `/zones/${zone}/dns_records`,
    JSON.stringify({ type: 'TXT', name: `n${at}`, content: 'x' }),
  );
  const name = await send('PUT', `/accounts/acme/functions/f${at}`, upload('export default {}'));
  process.stdout.write(`${id} ${name}\n`);
}
