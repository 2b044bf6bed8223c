/** The two ends of a connection between an application and the backend process, in one process. Programs that run without ava import it, too. */
import { createConnection, createServer, type Socket } from 'node:net';
import { remoteDirectory } from '../../../src/backend/client/contract-client.js';
import { RemoteLink } from '../../../src/backend/client/remote-link.js';
import { RemoteServer } from '../../../src/backend/server/applications/remote-server.js';
import type { ServedObjects } from '../../../src/backend/server/applications/served-objects.js';
import { CONNECTION_BOUNDS } from '../../../src/backend/wire/connection-bounds.js';
import { BUCKET_CONTRACT } from '../../../src/bindings/bucket/contract.js';
import type { BucketDirectory } from '../../../src/bindings/bucket/engine.js';
import { Channel, type ChannelOwner } from '../../../src/protocol/channel.js';
import { loopback } from '../../../src/protocol/transports/loopback.js';
import { socketTransport, type Transport } from '../../../src/protocol/transports/transport.js';

export interface ServedChannel {
  readonly channel: Channel;
  readonly server: RemoteServer;
}

/** The end of the backend process. */
export function serve(transport: Transport, objects: ServedObjects): ServedChannel {
  let server: RemoteServer | undefined;
  const channel = new Channel(
    transport,
    'isolate',
    {
      onOpen: (exchange, _kind, head, body, isComplete) => server?.onOpen(exchange, head, body, isComplete),
      onSignal: (id, kind, payload) => server?.onSignal(id, kind, payload),
      onClose: () => server?.close(),
    },
    CONNECTION_BOUNDS,
  );
  server = new RemoteServer(channel, objects);
  return { channel, server };
}

/** The end of the application. */
export function applicationChannel(transport: Transport, onSignal: ChannelOwner['onSignal'] = () => {}): Channel {
  return new Channel(
    transport,
    'host',
    {
      onOpen: exchange => exchange.fail('unexpected'),
      onSignal,
      onClose: () => {},
    },
    CONNECTION_BOUNDS,
  );
}

export function connect(socket: Socket, onSignal?: ChannelOwner['onSignal']): Channel {
  return applicationChannel(socketTransport(socket, false), onSignal);
}

/** The backend process of a socket in a folder, in this process: connections are made one after the other. */
export interface SocketBackend {
  /** The current connection, or a new one. */
  connection(): Promise<Channel>;
  /** Ends the current connection as a kill of the other process does. */
  cut(): void;
  /** How often the application has connected. */
  readonly connections: number;
  close(): Promise<void>;
}

/** @param onServed gets the end of the backend process of each connection */
export async function socketBackend(
  path: string,
  objects: ServedObjects,
  onServed: (served: ServedChannel) => void = () => {},
): Promise<SocketBackend> {
  const sockets = new Set<Socket>();
  const server = createServer(socket => {
    sockets.add(socket);
    onServed(serve(socketTransport(socket, true), objects));
  });
  await new Promise<void>(resolve => {
    server.listen(path, resolve);
  });
  let current: Promise<Channel> | undefined;
  let channel: Channel | undefined;
  let connections = 0;
  const open = async (): Promise<Channel> => {
    connections++;
    const socket = createConnection(path);
    await new Promise((resolve, reject) => {
      socket.once('connect', resolve);
      socket.once('error', reject);
    });
    channel = connect(socket);
    return channel;
  };
  return {
    connection() {
      if (current === undefined || channel?.isClosed) current = open();
      return current;
    },
    cut() {
      for (const socket of sockets) socket.destroy();
      sockets.clear();
    },
    get connections() {
      return connections;
    },
    async close() {
      channel?.close();
      for (const socket of sockets) socket.destroy();
      await new Promise(resolve => {
        server.close(resolve);
      });
    },
  };
}

export interface Pair extends ServedChannel {
  readonly application: Channel;
  readonly link: RemoteLink;
}

export function remotePair(objects: ServedObjects): Pair {
  const [near, far] = loopback();
  const served = serve(far, objects);
  const application = applicationChannel(near);
  return { ...served, application, link: new RemoteLink(async () => application) };
}

/** The buckets of the account, over the connection. */
export function remoteBuckets(link: RemoteLink, account: string): BucketDirectory {
  return remoteDirectory(link, 'bucket', BUCKET_CONTRACT, account);
}
