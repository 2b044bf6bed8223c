/** A class whose WebSockets sleep, and a function in front of it. */
import type { ExecutionContext } from 'ava';
import type { EdgeFunction, EdgeHost, LoadOptions } from '../../../../src/index.js';
import { serveSockets } from '../../ingress/websocket/servers.js';
import { newHost } from '../../new-host.js';

export const ROOM = `import { StatefulObject } from 'edgehost:workers';
let made = 0;
export class Room extends StatefulObject {
  number = ++made;
  constructor(ctx, env) { super(ctx, env); this.found = ctx.getWebSockets().length; }
  fetch(request) {
    const { searchParams } = new URL(request.url);
    const [client, server] = Object.values(new WebSocketPair());
    this.ctx.acceptWebSocket(server, searchParams.getAll('tag'));
    server.serializeAttachment({ name: searchParams.get('name'), count: 0 });
    if (searchParams.has('hello')) server.send('hello');
    return new Response(null, { status: 101, webSocket: client, headers: { 'x-room': String(this.ctx.id.name) } });
  }
  async webSocketMessage(ws, message) {
    const attachment = ws.deserializeAttachment();
    if (typeof message !== 'string') { ws.send(message); structuredClone(message, { transfer: [message] }); return; }
    const [word, ...rest] = message.split(' ');
    if (word === 'echo') ws.send(rest.join(' '));
    else if (word === 'count') { attachment.count++; ws.serializeAttachment(attachment); ws.send(JSON.stringify(attachment)); }
    else if (word === 'all') for (const each of this.ctx.getWebSockets(rest[0])) each.send('to ' + each.deserializeAttachment().name);
    else if (word === 'tags') ws.send(JSON.stringify(this.ctx.getTags(ws)));
    else if (word === 'who') ws.send(JSON.stringify([this.number, this.found, this.ctx.getWebSockets().length, this.ctx.id.name]));
    else if (word === 'close') ws.close(4001, 'asked');
    else if (word === 'abort') this.ctx.abort(new Error('given up'));
    else if (word === 'throw') throw new RangeError('not this one');
    else if (word === 'auto') this.ctx.setWebSocketAutoResponse(new WebSocketRequestResponsePair(rest[0], rest[1]));
    else if (word === 'when') ws.send(String(this.ctx.getWebSocketAutoResponseTimestamp(ws)?.getTime() ?? null));
    else if (word === 'put') { await this.ctx.storage.put('kept', rest[0]); ws.send(await this.ctx.storage.get('kept')); }
  }
  webSocketClose(ws, code, reason, wasClean) {
    console.log(JSON.stringify(['close', ws.deserializeAttachment()?.name, code, reason, wasClean, ws.readyState, this.ctx.getWebSockets().length]));
  }
  webSocketError(ws, error) { console.log(JSON.stringify(['error', error.message])); }
  info() { return [this.number, this.found, this.ctx.getWebSockets().length]; }
}
export default { fetch: (request, env) => env.ROOM.getByName(new URL(request.url).pathname).fetch(request) };`;

export interface SleepRig {
  readonly host: EdgeHost;
  readonly fn: EdgeFunction;
  readonly url: string;
}

export async function sleepRig(
  t: ExecutionContext,
  options: {
    readonly host?: Parameters<typeof newHost>[1];
    readonly source?: string;
    readonly load?: LoadOptions;
  } = {},
): Promise<SleepRig> {
  const host = newHost(t, options.host);
  const fn = await host.load(options.source ?? ROOM, {
    name: 'rooms',
    routes: ['*/*'],
    objects: { ROOM: 'Room' },
    ...options.load,
  });
  return { host, fn, url: await serveSockets(t, host) };
}
