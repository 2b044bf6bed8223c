/** An application that connects to the backend process of a directory, says the id of that, and stays. With `starts` it starts one and does not connect. */

import { SocketDirectory } from '../../../../src/backend/socket/socket-directory.js';
import { connectBackend } from '../../../../src/backend/spawn/connect-backend.js';
import { packageVersion } from '../../../../src/backend/spawn/package-version.js';
import { StartedProcess } from '../../../../src/backend/spawn/started-process.js';

const [directory = '', main = '', how] = process.argv.slice(2);
if (how === 'starts') {
  const options = { main, heapBytes: 2 ** 27, niceness: 0, graceMs: 0, maxConnections: 8, version: packageVersion() };
  const { pid } = new StartedProcess(await SocketDirectory.open(directory), options);
  console.log(pid);
} else {
  const { pid } = await connectBackend({ directory, main });
  console.log(pid);
}
setInterval(() => {}, 60_000);
