/** An application that connects to the backend process of a directory, says the id of that, and stays. With `starts` it starts one and does not connect. */
import { connectServices } from '../../../../src/services/process/connect-services.js';
import { packageVersion } from '../../../../src/services/process/package-version.js';
import { SocketDirectory } from '../../../../src/services/process/socket-directory.js';
import { StartedProcess } from '../../../../src/services/process/started-process.js';

const [directory = '', main = '', how] = process.argv.slice(2);
if (how === 'starts') {
  const options = { main, heapBytes: 2 ** 27, niceness: 0, graceMs: 0, maxConnections: 8, version: packageVersion() };
  const { pid } = new StartedProcess(await SocketDirectory.open(directory), options);
  console.log(pid);
} else {
  const { pid } = await connectServices({ directory, main });
  console.log(pid);
}
setInterval(() => {}, 60_000);
