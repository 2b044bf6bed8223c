/** A function whose isolate has been taken over: the other end of the host's connection is a test that sends whatever it likes. */

import type { ExecutionContext } from 'ava';
import { UNTIMED_BODIES } from '../../../src/bindings/bodies/given-bodies.js';
import { KeptBody } from '../../../src/host/deploy/kept-body.js';
import { FunctionRunner } from '../../../src/host/invocation/function-runner.js';
import type { InvocationContext } from '../../../src/host/invocation/invocation-context.js';
import { IsolateCache } from '../../../src/pool/host/isolate-cache.js';
import { IsolateHandle } from '../../../src/pool/host/isolate-handle.js';
import { FrameReader } from '../../../src/protocol/frames/frame-reader.js';
import { FrameWriter } from '../../../src/protocol/frames/frame-writer.js';
import { HostOpens, SignalKind } from '../../../src/protocol/messages.js';
import type { TransportReader } from '../../../src/protocol/transports/transport.js';
import { resolveLimits } from '../../../src/quotas/resolve-limits.js';
import { LOAD_HEAD } from '../../pool/host/fake-isolate.js';
import { SILENT_TRANSPORT } from '../../protocol/silent-transport.js';
import { everyService } from '../service-entry.js';
import { wideShare } from '../wide-share.js';

export interface HostileIsolate {
  readonly runner: FunctionRunner;
  /** How invocations ended, and what was logged. */
  readonly told: string[];
  /** As if so much of what the host sent had not been read. */
  setUnread(bytes: number): void;
}

/** `onFetch` writes the answers to each request; what it writes is sent when it returns. */
export async function hostileIsolate(
  t: ExecutionContext,
  onFetch: (writer: FrameWriter, id: number) => void,
): Promise<HostileIsolate> {
  const told: string[] = [];
  const writer = new FrameWriter();
  let host: TransportReader | undefined;
  const send = (): void => {
    for (const part of writer.take()) host?.onRead(Buffer.from(part));
  };
  const reader = new FrameReader({
    onOpen(id, kind) {
      if (kind === HostOpens.Load) {
        writer.reply(id, 200, '{"kind":"loaded","handlers":["fetch"],"startupTimeMs":1}', true, null, true);
      } else if (kind === HostOpens.Fetch) onFetch(writer, id);
      setImmediate(send);
    },
    onReply() {},
    onData() {},
    onEnd() {},
    onCredit() {},
    onReset() {},
    onStopSending() {},
    onPause() {},
    onPaused() {},
    onSplice() {},
    onSignal(id, kind) {
      if (kind !== SignalKind.Close) return;
      writer.signal(id, SignalKind.Done, Buffer.alloc(8));
      setImmediate(send);
    },
  });
  const transport = {
    ...SILENT_TRANSPORT,
    start(given: TransportReader) {
      host = given;
    },
    unwrittenBytes: 0,
    write(parts: readonly Buffer[]) {
      for (const part of parts) reader.push(Buffer.from(part));
    },
  };
  const cache = new IsolateCache({ max: 1, idleMs: Number.POSITIVE_INFINITY });
  const context: InvocationContext = {
    account: 'account',
    function: 'hostile',
    version: '1',
    limits: resolveLimits({ plan: 'standard' }),
    share: wideShare(),
    tails: { isWatched: false, finished() {} },
    idleHttpMs: Number.POSITIVE_INFINITY,
    bodies: UNTIMED_BODIES,
    cpuGrant: limitMs => limitMs,
    services: everyService(async () => ({ head: null })),
    connectionSlotRelease: 'body',
    admit: () => ({ kind: 'admit' }),
    requests: () => ({ requestsPerMinute: 0, requestsPerDay: 0 }),
    emitLog: ({ message }) => told.push(`log ${message}`),
    isReportHeard: () => true,
    onFinished: (outcome, _figures, event) => told.push(`${outcome} ${event().error?.code ?? ''}`.trim()),
  };
  const runner = new FunctionRunner({
    context,
    body: new KeptBody(new Uint8Array(0), { charge() {} }),
    head: () => ({
      ...LOAD_HEAD,
      limits: { ...LOAD_HEAD.limits, cpuMs: { fetch: null, scheduled: null, queue: null, alarm: null, tail: null } },
    }),
    endedInPeace: () => {},
    cache,
    acquire: async () => new IsolateHandle({ lease: 1, transport }, () => {}),
  });
  await runner.load();
  t.teardown(() => runner.retire());
  return {
    runner,
    told,
    setUnread: bytes => {
      transport.unwrittenBytes = bytes;
    },
  };
}
