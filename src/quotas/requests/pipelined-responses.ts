/**
 * Responses of requests that a client has sent before it had the answer to an earlier one on its connection. Until their turn comes they have no connection of
 * their own, and node:http before Node 24 does not say of them that the client has gone: work for them would never end.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { guarded } from '../guarded.js';

/** By connection: one listener for all of them. */
const waiting = new WeakMap<Socket, Set<ServerResponse>>();

/** From here on the response closes with its connection, also while it waits for those before it. To be called when the request comes. */
export function closeWithConnection({ socket }: IncomingMessage, response: ServerResponse): void {
  if (response.socket !== null || response.closed) return;
  const responses = waiting.get(socket) ?? watched(socket);
  responses.add(response);
  response.once('close', () => responses.delete(response));
  // The client has already gone while earlier work was done.
  if (socket.destroyed) closeAll(responses);
}

function watched(socket: Socket): Set<ServerResponse> {
  const responses = new Set<ServerResponse>();
  waiting.set(socket, responses);
  socket.once(
    'close',
    guarded(() => closeAll(responses)),
  );
  return responses;
}

function closeAll(responses: ReadonlySet<ServerResponse>): void {
  for (const each of responses) if (!isOver(each)) each.destroy();
  // In Node 24 and later, responses have emitted "close" by themselves before this.
  setImmediate(
    guarded(() => {
      for (const each of responses) if (!isOver(each)) each.emit('close');
    }),
  );
}

/** One that has got the connection meanwhile, or has been sent, is closed by node:http. */
function isOver({ socket, writableFinished }: ServerResponse): boolean {
  return socket !== null || writableFinished;
}
