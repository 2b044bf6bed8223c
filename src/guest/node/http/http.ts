/** node:http: a client over fetch(), and servers that a fetch handler calls. @see https://nodejs.org/api/http.html */
import { MessageEvent } from '../../web/messaging/messaging.ts';
import { Agent, globalAgent } from './agent.ts';
import { ClientRequest, requestsOf } from './client-request.ts';
import { hasInvalidChar, isToken, validateHeaderName, validateHeaderValue } from './header-fields.ts';
import { IncomingMessage } from './incoming-message.ts';
import { OutgoingMessage } from './outgoing-message.ts';
import { createServer, Server } from './server.ts';
import { ServerResponse } from './server-response.ts';

export const internals = { _checkInvalidHeaderChar: hasInvalidChar, _checkIsHttpToken: isToken };

export default {
  ...requestsOf('http:'),
  Agent,
  ClientRequest,
  IncomingMessage,
  MessageEvent,
  OutgoingMessage,
  Server,
  ServerResponse,
  createServer,
  globalAgent,
  validateHeaderName,
  validateHeaderValue,
};
