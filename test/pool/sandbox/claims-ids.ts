/** Claims user numbers and stays until it is ended. Argument: the range, as JSON. */
import process from 'node:process';
import { UserIds } from '../../../src/pool/sandbox/user-ids.js';

const ids = new UserIds(JSON.parse(process.argv[2] ?? '{}'), false);
await ids.reserve();
process.send?.(ids.free);
// Neither the claims nor a channel without listeners keep a process alive.
setInterval(() => {}, 60_000);
