/** Removes the account `acme` and says on stdout how far it is, until it is killed: `node removes.js DIRECTORY [inline|process]`. */
import { writeSync } from 'node:fs';
import { EdgeHost } from '../../../src/index.js';

const [storage = '', backend] = process.argv.slice(2);
const host = new EdgeHost({ storage, backend: backend === 'process' ? 'process' : 'inline' });
const bucket = host.account('acme').bucket('files');
await bucket.head('a');
writeSync(1, 'ready\n');
const { deleted } = await host.removeAccount('acme', { deleteData: true });
writeSync(1, 'removed\n');
await deleted;
writeSync(1, 'deleted\n');
await host.close();
