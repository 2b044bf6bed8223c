/** Two honest ends of a connection, whose owners do whatever they may in whatever order: neither breaks the protocol, and no byte is lost or left. */
import test from 'ava';
import fc from 'fast-check';
import { WINDOW_BYTES } from '../../src/protocol/bodies/body-owner.js';
import { Channel } from '../../src/protocol/channel.js';
import type { Exchange } from '../../src/protocol/exchange.js';
import type { TransportReader } from '../../src/protocol/transports/transport.js';
import { SILENT_TRANSPORT } from './silent-transport.js';

const STEPS = [
  'open',
  'openWhole',
  'reply',
  'replyWhole',
  'write',
  'end',
  'fail',
  'read',
  'stopReading',
  'forward',
  'pump',
] as const;

interface Step {
  readonly kind: (typeof STEPS)[number] | 'hostToIsolate' | 'isolateToHost';
  readonly isHost: boolean;
  readonly which: number;
  readonly bytes: number;
}

/** One direction of the connection: what was written waits until it is carried over. */
class Wire {
  readonly #parts: Buffer[] = [];
  reader: TransportReader | undefined;

  write(parts: readonly Buffer[]): void {
    this.#parts.push(Buffer.concat(parts));
  }

  carry(): boolean {
    const part = this.#parts.shift();
    if (part !== undefined) this.reader?.onRead(part);
    return part !== undefined;
  }
}

/** One end, whose owner keeps to the order that it may: an answer is begun before its body is written, and the isolate alone forwards bodies. */
class End {
  readonly channel: Channel;
  readonly exchanges: Exchange[] = [];
  error: string | undefined;
  readonly #side: 'host' | 'isolate';
  readonly #answered = new Set<Exchange>();
  /** The bodies that are forwarded, each with the exchange that it goes to. */
  readonly #forwarded = new Map<Exchange, Exchange>();
  readonly #spliced = new Set<Exchange>();

  constructor(side: 'host' | 'isolate', out: Wire, back: Wire) {
    this.#side = side;
    this.channel = new Channel(
      {
        ...SILENT_TRANSPORT,
        start: reader => {
          back.reader = reader;
        },
        write: parts => out.write(parts),
      },
      side,
      {
        onOpen: (exchange, _kind, _head, body, isComplete) => {
          if (isComplete) exchange.buffer(body);
          this.exchanges.push(exchange);
        },
        onSignal() {},
        onClose: error => {
          this.error = error?.message;
        },
      },
    );
  }

  get splices(): number {
    return this.#spliced.size;
  }

  do({ kind, which, bytes }: Step): void {
    if (kind === 'open') this.exchanges.push(this.channel.open(1, '', false, null, false));
    if (kind === 'openWhole') this.exchanges.push(this.channel.open(1, '', false, new Uint8Array(bytes), true));
    const exchange = this.exchanges[which % Math.max(1, this.exchanges.length)];
    if (exchange === undefined) return;
    if (kind === 'reply') this.#reply(exchange, null, false);
    if (kind === 'replyWhole') this.#reply(exchange, new Uint8Array(bytes), true);
    if (kind === 'write' && this.#isFree(exchange)) exchange.write(new Uint8Array(bytes));
    if (kind === 'end' && this.#isFree(exchange)) exchange.end();
    if (kind === 'fail') exchange.fail('given up');
    if (kind === 'read') exchange.read(bytes + 1);
    if (kind === 'stopReading') exchange.stopReading('enough');
    if (kind === 'forward') this.#forward(exchange, bytes);
    if (kind === 'pump') this.#pump();
  }

  #isOwn({ id }: Exchange): boolean {
    return (id % 2 === 0) === (this.#side === 'host');
  }

  #mayWrite(exchange: Exchange): boolean {
    return this.#isOwn(exchange) || this.#answered.has(exchange);
  }

  /** What is forwarded to an exchange is all of its body. */
  #isFree(exchange: Exchange): boolean {
    return this.#mayWrite(exchange) && ![...this.#forwarded.values()].includes(exchange);
  }

  #reply(exchange: Exchange, body: Uint8Array | null, isComplete: boolean): void {
    if (this.#mayWrite(exchange)) return;
    this.#answered.add(exchange);
    exchange.reply(200, '', false, body, isComplete);
  }

  #forward(source: Exchange, which: number): void {
    const target = this.exchanges[which % this.exchanges.length];
    if (this.#side === 'host' || target === undefined || !this.#mayWrite(target)) return;
    if (this.#forwarded.has(source) || [...this.#forwarded.values()].includes(target)) return;
    if (target === source && this.#isOwn(source)) return;
    source.forwardIncoming();
    this.#forwarded.set(source, target);
  }

  #pump(): void {
    for (const [source, target] of this.#forwarded) {
      while (target.credit > 0 && !target.isOutgoingOver) {
        const chunk = source.read(target.credit);
        if (chunk === undefined) break;
        target.write(chunk);
      }
      if (source.incoming === 'ended') target.end();
      else if (source.incoming === 'failed') target.fail(source.failReason);
      else if (source.isPaused && source.queuedBytes === 0 && !this.#spliced.has(source)) {
        this.#spliced.add(source);
        target.splice(source);
      }
    }
  }
}

const steps = fc.array(
  fc.record({
    kind: fc.constantFrom(...STEPS, 'hostToIsolate' as const, 'isolateToHost' as const),
    isHost: fc.boolean(),
    which: fc.nat(5),
    bytes: fc.constantFrom(0, 1, 2, 1000, 32 * 1024, 64 * 1024, 100_000, WINDOW_BYTES),
  }),
  { maxLength: 80 },
);

/** What an isolate does that answers with the body of its request: so that splices are reached often. */
const TO_ISOLATE = Array.from({ length: 3 }, () => ({ kind: 'hostToIsolate' }) as const);
const TO_HOST = Array.from({ length: 3 }, () => ({ kind: 'isolateToHost' }) as const);
const ECHO: readonly Step[] = [
  { kind: 'open', isHost: true } as const,
  { kind: 'write', isHost: true, bytes: 64 * 1024 } as const,
  ...TO_ISOLATE,
  { kind: 'reply' } as const,
  { kind: 'forward' } as const,
  { kind: 'pump' } as const,
  ...TO_HOST,
  ...TO_ISOLATE,
  { kind: 'pump' } as const,
].map(step => ({ isHost: false, which: 0, bytes: 0, ...step }));

test('two honest ends never break the protocol, whatever their owners do and whenever it arrives', t => {
  let splices = 0;
  fc.assert(
    fc.property(fc.boolean(), steps, (echoes, random) => {
      const all = echoes ? [...ECHO, ...random] : random;
      const toIsolate = new Wire();
      const toHost = new Wire();
      const host = new End('host', toIsolate, toHost);
      const isolate = new End('isolate', toHost, toIsolate);
      const flush = (): void => {
        for (const { channel } of [host, isolate]) {
          for (let frames = 0; frames < 16; frames++) channel.scheduleFlush();
          channel.flushMany();
        }
      };
      for (const step of all) {
        flush();
        if (step.kind === 'hostToIsolate') toIsolate.carry();
        else if (step.kind === 'isolateToHost') toHost.carry();
        else (step.isHost ? host : isolate).do(step);
      }
      do flush();
      while (toIsolate.carry() || toHost.carry());
      splices += isolate.splices;
      for (const { error } of [host, isolate]) if (error !== undefined) throw new Error(error);
      for (const { channel, exchanges } of [host, isolate]) {
        for (const exchange of exchanges) {
          if (exchange.queuedBytes > WINDOW_BYTES) throw new Error(`${exchange.queuedBytes} bytes are queued`);
        }
        channel.close();
        if (exchanges.some(exchange => !exchange.isFinished)) throw new Error('An exchange is not over');
      }
    }),
    { numRuns: 1500 },
  );
  t.true(splices > 500, `${splices} bodies were spliced`);
});
