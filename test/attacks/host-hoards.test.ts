/**
 * What one account can make the host hold: the other ends of its connections are a test that tries every way in, from sixteen isolates. What is counted
 * is compared with what the process really holds.
 */
import process from 'node:process';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import test, { type ExecutionContext } from 'ava';
import { InvocationAccounting } from '../../src/backend/calls/accounting.js';
import { answerCall } from '../../src/backend/calls/answer-call.js';
import type { Service } from '../../src/bindings/service.js';
import type { InvocationPort } from '../../src/pool/host/invocation-port.js';
import { IsolateHandle } from '../../src/pool/host/isolate-handle.js';
import { FrameType, HEADER_BYTES, INLINE_BODY_BYTES } from '../../src/protocol/frames/frame-layout.js';
import { FrameWriter } from '../../src/protocol/frames/frame-writer.js';
import { HostOpens, SignalKind } from '../../src/protocol/messages.js';
import type { TransportReader } from '../../src/protocol/transports/transport.js';
import { HostBudget, type HostShare } from '../../src/quotas/host/host-share.js';
import { LimitWarnings } from '../../src/quotas/limit-warnings.js';
import { resolveLimits } from '../../src/quotas/resolve-limits.js';
import { ServiceId } from '../../src/quotas/service-calls.js';
import { everyService } from '../host/service-entry.js';
import { IGNORES_ALL } from '../pool/host/fake-isolate.js';
import { SILENT_TRANSPORT } from '../protocol/silent-transport.js';

setFlagsFromString('--expose-gc');
const collect: () => void = runInNewContext('gc');

const MEBIBYTE = 1024 * 1024;
const KIBIBYTE = 1024;
const BUDGET_BYTES = 16 * MEBIBYTE;
const ISOLATES = 16;
/** What a socket of node:net hands over at once. */
const READ_BYTES = 64 * KIBIBYTE;

interface Peer {
  /** A new one for each step. */
  writer: FrameWriter;
  /** Of an open invocation. */
  readonly id: number;
  readonly handle: IsolateHandle;
  /** Not read yet by the host. */
  outbox: Buffer;
  /** Hands over what is in the outbox as a socket would: in buffers of their own, of at most 64 KiB; none while the host does not read. */
  send(): void;
}

interface Rig {
  readonly share: HostShare;
  readonly peers: readonly Peer[];
  readonly stuck: Promise<string>;
  end(): void;
}

/** Calls wait for a connection that is never free: the first six hold theirs. */
function rig(t: ExecutionContext): Rig {
  let onStuck = (_reason: string): void => {};
  const stuck = new Promise<string>(resolve => {
    onStuck = resolve;
  });
  const budget = new HostBudget({ heapBytes: 2 ** 40, bufferBytes: 2 ** 40 });
  const limits = { hostBytes: BUDGET_BYTES, openInvocations: 1000, openDescriptors: 1000 };
  const share = budget.share('evil', limits, reason => onStuck(reason));
  const peers = Array.from({ length: ISOLATES }, () => peer(share));
  const alive = setInterval(() => {}, 1000);
  const end = (): void => {
    clearInterval(alive);
    for (const { handle } of peers) handle.leaseEnded('cell', '');
    share.close();
  };
  t.teardown(end);
  return { share, peers, stuck, end };
}

function peer(share: HostShare): Peer {
  let reader: TransportReader | undefined;
  let isPaused = false;
  const transport = {
    ...SILENT_TRANSPORT,
    start(given: TransportReader) {
      reader = given;
    },
    pause: () => {
      isPaused = true;
    },
    resume: () => {
      isPaused = false;
    },
  };
  const handle = new IsolateHandle({ lease: 1, transport }, () => {}, share);
  const limits = resolveLimits({ plan: 'standard' });
  const service: Service = ({ signal }) =>
    new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(new Error('The call is over')));
    });
  const services = everyService(service, 'B');
  const accounting = new InvocationAccounting(
    limits,
    'body',
    new LimitWarnings(),
    { ping() {}, cancelCall() {}, charge() {} },
    share,
  );
  const port: InvocationPort = {
    ...IGNORES_ALL,
    onCall(exchange, id, head, body, isComplete) {
      if (isComplete) exchange.buffer(body);
      const entry = services.get(id);
      if (entry !== undefined) void answerCall(entry, accounting, exchange, head, isComplete);
    },
  };
  const { id } = handle.invoke(HostOpens.Fetch, 'GET\nhttp://x/', false, null, true, port);
  return {
    writer: new FrameWriter(),
    id,
    handle,
    outbox: NOTHING,
    send() {
      while (this.outbox.length > 0 && !isPaused && handle.isUsable) {
        // A socket's buffer has what was read and nothing else.
        const chunk = Buffer.allocUnsafeSlow(Math.min(READ_BYTES, this.outbox.length));
        chunk.set(this.outbox.subarray(0, READ_BYTES));
        this.outbox = this.outbox.subarray(chunk.length);
        reader?.onRead(chunk);
      }
      if (this.outbox.length === 0) this.outbox = NOTHING;
    },
  };
}

const NOTHING = Buffer.alloc(0);

const nextRound = (): Promise<void> => new Promise(resolve => setImmediate(resolve));

/** Sends until the host reads no more, in all isolates alternately; answers how much was sent. */
async function hoard({ peers }: Rig, step: (peer: Peer, n: number) => Buffer | undefined): Promise<number> {
  const steps = new Map(peers.map(each => [each, 0]));
  let sent = 0;
  for (let rounds = 0; rounds < 100; rounds++) {
    for (const each of peers) {
      each.send();
      for (let burst = 0; burst < 20 && each.outbox.length === 0; burst++) {
        const n = steps.get(each) ?? 0;
        if (n > MAX_STEPS) break;
        steps.set(each, n + 1);
        each.writer = new FrameWriter();
        each.outbox = step(each, n) ?? Buffer.concat(each.writer.take());
        sent += each.outbox.length;
        if (each.outbox.length > 0) rounds = 0;
        each.send();
      }
    }
    await nextRound();
  }
  for (const each of peers) each.writer = new FrameWriter();
  return sent;
}

/** More than this is enough of anything that the budget does not stop. */
const MAX_STEPS = 5000;

/** Buffers are given back by threads of the engine, some time after they were found to be garbage. */
async function held(): Promise<number> {
  for (let round = 0; round < 4; round++) {
    collect();
    await new Promise(resolve => setTimeout(resolve, 10));
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

function partialNote(bytes: number, length: number): Buffer {
  const frame = Buffer.alloc(HEADER_BYTES + bytes);
  frame.writeUInt32LE(length, 0);
  frame.writeUInt8(FrameType.Signal, 4);
  frame.writeUInt32LE(2, 5);
  return frame;
}

const BIG_TEXT = 'あ'.repeat(10_000);

const ways: readonly (readonly [string, (peer: Peer, n: number) => Buffer | undefined])[] = [
  [
    'views that pin what was read',
    (each, n) => {
      // A note that is gathered, and behind it just enough of a body to be kept as a view of all of it.
      if (n === 0) each.writer.reply(each.id, 200, '', false, null, false);
      const call = 2 * n + 1;
      each.writer.open(call, ServiceId.Bucket, `${each.id}\nput\nB\n{"key":"k"}`, true, null, false);
      each.writer.signal(4000, SignalKind.Log, Buffer.alloc(300 * KIBIBYTE));
      each.writer.data(call, new Uint8Array(16 * KIBIBYTE));
      return undefined;
    },
  ],
  [
    'heads of calls that wait',
    (each, n) => {
      const head = `${each.id}\nput\nB\n{"key":"k","customMetadata":{"x":"${BIG_TEXT}"}}`;
      each.writer.open(2 * n + 1, ServiceId.Bucket, head, true, null, false);
      return undefined;
    },
  ],
  [
    'arguments that are dear to hold',
    (each, n) => {
      const head = `${each.id}\ncreateMultipartUpload\nB\n{"key":[${'{},'.repeat(9000)}{}]}`;
      each.writer.open(2 * n + 1, ServiceId.Bucket, head, true, null, true);
      return undefined;
    },
  ],
  [
    'bodies that nobody reads',
    (each, n) => {
      const call = 2 * n + 1;
      each.writer.open(call, ServiceId.Bucket, `${each.id}\nput\nB\n{"key":"k"}`, true, null, false);
      each.writer.data(call, new Uint8Array(64 * KIBIBYTE));
      return undefined;
    },
  ],
  [
    'bodies that come with their heads',
    (each, n) => {
      const head = `${each.id}\nput\nB\n{"key":"k"}`;
      each.writer.open(2 * n + 1, ServiceId.Bucket, head, true, new Uint8Array(INLINE_BODY_BYTES), true);
      return undefined;
    },
  ],
  [
    'bodies byte by byte',
    (each, n) => {
      if (n < 500) each.writer.open(2 * n + 1, ServiceId.Bucket, `${each.id}\nput\nB\n{"key":"k"}`, true, null, false);
      else each.writer.data(2 * (n % 500) + 1, new Uint8Array(1));
      return undefined;
    },
  ],
  [
    'frames that are never whole',
    (_each, n) => (n === 0 ? partialNote(380 * KIBIBYTE, 384 * KIBIBYTE) : Buffer.alloc(0)),
  ],
];

for (const [name, step] of ways) {
  test.serial(`sixteen isolates cannot make the host hold more than its budget by ${name}`, async t => {
    const before = await held();
    const made = rig(t);
    const sent = await hoard(made, step);
    const { bytes } = made.share;
    const unsent = made.peers.reduce((sum, { outbox }) => sum + outbox.buffer.byteLength, 0);
    const really = (await held()) - before - unsent;
    t.true(sent > 0);
    // Each isolate may have one more read under way when the budget is used up.
    const most = BUDGET_BYTES + ISOLATES * 2 * READ_BYTES;
    t.true(bytes.held <= most * 1.1, `counted ${bytes.held}`);
    t.true(really <= most * 1.25, `really ${really}, counted ${bytes.held}`);
    t.true(really <= bytes.held * 1.25 + 4 * MEBIBYTE, `really ${really}, counted ${bytes.held}`);
    made.end();
    await nextRound();
    t.is(bytes.held, 0, 'all of it is given back');
  });
}

test('an account that hoards is ended, and told why', async t => {
  const made = rig(t);
  await hoard(made, (each, n) => {
    const call = 2 * n + 1;
    each.writer.open(call, ServiceId.Bucket, `${each.id}\nput\nB\n{"key":"k"}`, true, null, false);
    each.writer.data(call, new Uint8Array(64 * KIBIBYTE));
    return undefined;
  });
  t.regex(await made.stuck, /held \d+ bytes for it that did not fall \(option hostBytes is 16777216\)/);
});
