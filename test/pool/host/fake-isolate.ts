/** Isolates as the host sees them, with a test at the other end of the connection. */

import type { InvocationPort } from '../../../src/pool/host/invocation-port.js';
import { IsolateHandle } from '../../../src/pool/host/isolate-handle.js';
import { FrameWriter } from '../../../src/protocol/frames/frame-writer.js';
import { HostOpens, type LoadHead, SignalKind } from '../../../src/protocol/messages.js';
import type { TransportReader } from '../../../src/protocol/transports/transport.js';
import { SILENT_TRANSPORT } from '../../protocol/silent-transport.js';

export const IGNORES_ALL: InvocationPort = {
  onReply() {},
  onData() {},
  onCredit() {},
  onSent() {},
  onStop() {},
  onFail() {},
  onLog() {},
  onPassThrough() {},
  onNoRetry() {},
  onHandlerFailed() {},
  onCall() {},
  onCallRead() {},
  checkProgress() {},
  onPong() {},
  onDone() {},
  onLost() {},
};

/** A function without modules. */
export const LOAD_HEAD: LoadHead = {
  name: 'hello',
  modules: [],
  env: {},
  bindings: [],
  flags: [],
  limits: {
    startupMs: 400,
    memoryBytes: 1,
    cpuOverrunMs: 0,
    cpuBalanceMs: 0,
    cpuMs: { fetch: 10, scheduled: 10, queue: 10, alarm: 10, tail: 10 },
  },
};

export interface FakeIsolate {
  readonly handle: IsolateHandle;
  /** Whether the host has ended it. */
  readonly isEnded: () => boolean;
  /** Begins an invocation; what is returned says that it is over. */
  readonly begin: (port?: Partial<InvocationPort>) => () => void;
  /** Sends to the host what is written. */
  readonly send: (write: (writer: FrameWriter) => void) => void;
  /** As if the cell was gone. */
  readonly disconnect: () => void;
}

export function fakeIsolate(lease = 1): FakeIsolate {
  let reader: TransportReader | undefined;
  let isEnded = false;
  const transport = {
    ...SILENT_TRANSPORT,
    start(given: TransportReader) {
      reader = given;
    },
  };
  const handle = new IsolateHandle({ lease, transport }, () => {
    isEnded = true;
  });
  const send: FakeIsolate['send'] = write => {
    const writer = new FrameWriter();
    write(writer);
    for (const part of writer.take()) reader?.onRead(Buffer.from(part));
  };
  return {
    handle,
    send,
    isEnded: () => isEnded,
    begin(port = {}) {
      const { id } = handle.invoke(HostOpens.Fetch, 'GET\nhttp://x/', false, null, true, { ...IGNORES_ALL, ...port });
      return () =>
        send(writer => {
          writer.reply(id, 200, '', true, null, true);
          writer.signal(id, SignalKind.Done, Buffer.alloc(8));
        });
    },
    disconnect: () => reader?.onClose(),
  };
}
