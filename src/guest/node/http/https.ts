/** node:https. @see https://nodejs.org/api/https.html */
import { SecureAgent, secureGlobalAgent } from './agent.ts';
import { requestsOf } from './client-request.ts';
import { createServer, Server } from './server.ts';

export default {
  ...requestsOf('https:'),
  Agent: SecureAgent,
  Server,
  createServer,
  globalAgent: secureGlobalAgent,
};
