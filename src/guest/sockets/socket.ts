/** `connect()` of `edgehost:sockets`. @see https://sockets-api.proposal.wintertc.org/ */
import type { SecureTransport } from '../../bindings/socket/wire.ts';
import { TypeErrorCtor } from '../primordials.ts';
import { requireHandler } from '../scope.ts';
import { defineInterface, requireArguments, toDictionary, toDOMString } from '../web/base/idl.ts';
import { isLocked, type ReadableStream, type WritableStream } from '../web/streams/streams.ts';
import { hasWrites, isWriterLocked } from '../web/streams/writable.ts';
import { type Address, parseAddress, parseOptions, type SocketOptions } from './address.ts';
import { SocketConnection } from './connection.ts';
import { type SocketInfo, SocketStreams } from './socket-streams.ts';

interface SocketParts {
  readonly connection: SocketConnection;
  readonly streams: SocketStreams;
  readonly options: SocketOptions;
}

let pending: SocketParts | undefined;

export class Socket {
  readonly #connection: SocketConnection;
  readonly #streams: SocketStreams;
  readonly #options: SocketOptions;
  #isUpgraded = false;

  constructor() {
    if (pending === undefined) throw new TypeErrorCtor('Illegal constructor');
    this.#connection = pending.connection;
    this.#streams = pending.streams;
    this.#options = pending.options;
    pending = undefined;
  }

  get readable(): ReadableStream {
    return this.#streams.readable;
  }

  get writable(): WritableStream {
    return this.#streams.writable;
  }

  get opened(): Promise<SocketInfo> {
    return this.#streams.opened;
  }

  get closed(): Promise<void> {
    return this.#streams.closed;
  }

  /** TLS has taken the connection over: this socket is of no more use. */
  get upgraded(): boolean {
    return this.#isUpgraded;
  }

  get secureTransport(): SecureTransport {
    return this.#options.secureTransport;
  }

  close(): Promise<void> {
    return this.#streams.close();
  }

  startTls(options: unknown = undefined): Socket {
    const given = toDictionary(options, 'The options of startTls()')?.expectedServerHostname;
    const serverName = given === undefined ? undefined : toDOMString(given);
    const { secureTransport, highWaterMark } = this.#options;
    if (secureTransport === 'on') throw new TypeErrorCtor('Cannot startTls on a TLS socket.');
    if (secureTransport !== 'starttls') {
      throw new TypeErrorCtor("The `secureTransport` socket option must be set to 'starttls' for startTls to be used.");
    }
    if (this.#isUpgraded) throw new TypeErrorCtor('Cannot startTls: it was called on this socket before');
    if (this.#streams.isOver) throw new TypeErrorCtor('Cannot startTls: the socket is closed');
    const { readable, writable } = this.#streams;
    if (isLocked(readable) || isWriterLocked(writable)) {
      throw new TypeErrorCtor('Cannot startTls: release the locks of the reader and of the writer first');
    }
    if (hasWrites(writable)) {
      throw new TypeErrorCtor(
        'Cannot startTls: not all that was written has been sent, wait for the promises of write()',
      );
    }
    const connection = this.#connection;
    this.#isUpgraded = true;
    this.#streams.detach();
    const streams = new SocketStreams(owner => {
      connection.startTls(serverName, owner);
      return connection;
    }, highWaterMark);
    return create({ connection, streams, options: { ...this.#options, secureTransport: 'on' } });
  }
}

defineInterface(Socket);

function create(parts: SocketParts): Socket {
  pending = parts;
  return new Socket();
}

export function connect(address: unknown, options: unknown = undefined): Socket {
  requireArguments(arguments.length, 1, 'connect');
  requireHandler('connect()');
  const target: Address = parseAddress(address);
  const settings = parseOptions(options);
  let made: SocketConnection | undefined;
  const streams = new SocketStreams(owner => {
    made = new SocketConnection(target, settings, owner);
    return made;
  }, settings.highWaterMark);
  if (made === undefined) throw new TypeErrorCtor('The socket has no connection');
  return create({ connection: made, streams, options: settings });
}
