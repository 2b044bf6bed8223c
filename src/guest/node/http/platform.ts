/** The values of `edgehost:node`: they lead requests of a fetch handler to a server of node:http. */
import { handleAsNodeRequest, httpServerHandler } from './server.ts';

export default { handleAsNodeRequest, httpServerHandler };
