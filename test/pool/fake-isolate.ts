/** Isolates as the host sees them, with a test at the other end of the connection. */

import { type InvocationPort, IsolateHandle } from '../../src/pool/isolate-handle.js';
import { FrameWriter } from '../../src/protocol/frame-writer.js';
import { HostOpens, SignalKind } from '../../src/protocol/messages.js';
import type { TransportReader } from '../../src/protocol/transport.js';

export const IGNORES_ALL: InvocationPort = {
  onReply() {},
  onData() {},
  onCredit() {},
  onSent() {},
  onStop() {},
  onFail() {},
  onLog() {},
  onPassThrough() {},
  onHandlerFailed() {},
  onCall() {},
  onCallRead() {},
  checkProgress() {},
  onPong() {},
  onDone() {},
  onLost() {},
};

export interface FakeIsolate {
  readonly handle: IsolateHandle;
  /** Whether the host has ended it. */
  readonly isEnded: () => boolean;
  /** Begins an invocation; what is returned says that it is over. */
  readonly begin: (port?: Partial<InvocationPort>) => () => void;
  /** As if the cell was gone. */
  readonly disconnect: () => void;
}

export function fakeIsolate(lease = 1): FakeIsolate {
  let reader: TransportReader | undefined;
  let isEnded = false;
  const transport = {
    start(given: TransportReader) {
      reader = given;
    },
    isBackpressured: false,
    unwrittenBytes: 0,
    pause() {},
    resume() {},
    write() {},
    close() {},
  };
  const handle = new IsolateHandle({ lease, transport }, () => {
    isEnded = true;
  });
  return {
    handle,
    isEnded: () => isEnded,
    begin(port = {}) {
      const { id } = handle.invoke(HostOpens.Fetch, 'GET\nhttp://x/', false, null, true, { ...IGNORES_ALL, ...port });
      return () => {
        const writer = new FrameWriter();
        writer.reply(id, 200, '', true, null, true);
        writer.signal(id, SignalKind.Done, Buffer.alloc(8));
        for (const part of writer.take()) reader?.onRead(Buffer.from(part));
      };
    },
    disconnect: () => reader?.onClose(),
  };
}
