/**
 * What the host keeps of an invocation, without the invocation: an isolate that answers at once. Two functions that differ in their limits run
 * through different isolates, whose compiled code differs by more than the accounting costs; here nothing else is measured.
 */
import process from 'node:process';
import { slotOf } from '../../src/host/function-slot.js';
import { Invocation } from '../../src/host/invocation/invocation.js';
import type { InvocationContext } from '../../src/host/invocation/invocation-context.js';
import type { IsolateHandle } from '../../src/pool/host/isolate-handle.js';
import type { Exchange } from '../../src/protocol/exchange.js';
import { HostOpens } from '../../src/protocol/messages.js';
import type { BenchmarkContext } from '../benchmark.js';
import { median } from '../measuring/statistics.js';
import { startHost } from './host.js';
import { TEXT_FUNCTION } from './sources.js';

const NONE = Number.POSITIVE_INFINITY;
/** All limits of an invocation that have an "off". */
const OFF = {
  cpuMs: NONE,
  wallMs: NONE,
  waitUntilMs: NONE,
  requestsPerDay: NONE,
  requestsPerMinute: NONE,
  addressRequestsPerSecond: NONE,
  subrequests: NONE,
  internalSubrequests: NONE,
};

const IN_FLIGHT = 64;
/** Invocations between two readings of the clock. */
const SLICE = IN_FLIGHT * 32;
const BODY = Buffer.from('Hello from a function');
const START = {
  kind: HostOpens.Fetch,
  head: 'GET\nhttps://example.com/',
  isUtf8: false,
  body: null,
  isComplete: true,
} as const;
const SINK = { respond() {}, bodyReady() {}, fail() {} };

/** Answers a measurement: CPU microseconds that the accounting of an invocation takes with all limits and a listener, less those without. */
export async function scriptedAccounting(
  context: Pick<BenchmarkContext, 'defer'>,
): Promise<(seconds: number) => Promise<number>> {
  const host = startHost(context, { limits: { requestsPerDay: 1e12, requestsPerMinute: 1e12 } });
  const kept = slotOf(await host.load(TEXT_FUNCTION, { name: 'kept' })).runner.context;
  const off = slotOf(await host.load(TEXT_FUNCTION, { name: 'off', limits: OFF })).runner.context;
  const listener = (): void => {};
  const slice = async (functionContext: InvocationContext, isHeard: boolean): Promise<number> => {
    if (isHeard) host.on('invocation', listener);
    const before = process.cpuUsage();
    for (let done = 0; done < SLICE; done += IN_FLIGHT) {
      invokeMany(functionContext);
      // Each batch is a round of the event loop, as what is read from a connection at once.
      await new Promise(setImmediate);
    }
    const { user, system } = process.cpuUsage(before);
    host.off('invocation', listener);
    return (user + system) / SLICE;
  };
  return async seconds => {
    const costs: number[] = [];
    for (const until = performance.now() + seconds * 1000; performance.now() < until; ) {
      const without = await slice(off, false);
      costs.push((await slice(kept, true)) - without);
    }
    return median(costs);
  };
}

function invokeMany(context: InvocationContext): void {
  const open: Invocation[] = [];
  for (let at = 0; at < IN_FLIGHT; at++) {
    void context.admit('fail-closed', undefined);
    open.push(new Invocation(context, ISOLATE, START, SINK));
  }
  for (const invocation of open) {
    invocation.onReply(200, 'OK', BODY, true);
    invocation.onDone(0.05, 5_000_000, 0);
  }
}

// All that an invocation which is answered at once asks of either.
const EXCHANGE = { id: 2, receivedBytes: 0 } as unknown as Exchange;
const ISOLATE = { isUsable: true, invoke: () => EXCHANGE } as unknown as IsolateHandle;
