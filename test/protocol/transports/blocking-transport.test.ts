import { spawn } from 'node:child_process';
import type { Duplex } from 'node:stream';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { exitDetail, TORN_EXIT } from '../../../src/isolate/exit-codes.js';
import { Channel } from '../../../src/protocol/channel.js';
import type { Exchange } from '../../../src/protocol/exchange.js';
import { FrameWriter } from '../../../src/protocol/frames/frame-writer.js';
import type { TransportReader } from '../../../src/protocol/transports/transport.js';
import { onLinux } from '../../needs.js';
import { SILENT_TRANSPORT } from '../silent-transport.js';

const SENT = 3_000_000;
const ANSWERED = 1_000_000;

onLinux(
  'an end that stands still reads while it writes to one that reads late, and nothing is lost or out of order',
  async t => {
    const program = fileURLToPath(new URL('../programs/blocking-end.js', import.meta.url));
    const child = spawn(process.execPath, [program, `${SENT}`, `${ANSWERED}`], {
      stdio: ['ignore', 'inherit', 'inherit', 'pipe'],
    });
    const exited = new Promise(resolve => child.once('exit', resolve));
    const pipe = child.stdio[3] as Duplex; // as stdio above says
    pipe.write(Buffer.from(Array.from({ length: ANSWERED }, (_, at) => at % 251)));
    // It has written as much as the connection holds by now, or is about to: either way all of it comes.
    await new Promise(resolve => setTimeout(resolve, 50));
    let at = 0;
    let last = 0;
    for await (const chunk of pipe as AsyncIterable<Buffer>) {
      for (const byte of chunk) {
        last = byte;
        if (byte < 251 && byte !== at++ % 251) t.fail(`${at}`);
      }
    }
    t.true(at >= SENT);
    t.is(last, 255);
    t.is(await exited, 0);
  },
);

/** Frames of the host, each read when the channel stands still. */
function scripted(frames: readonly (readonly Buffer[])[]): { readonly channel: Channel; readonly seen: string[] } {
  const seen: string[] = [];
  const waiting = [...frames];
  let reader: TransportReader | undefined;
  const channel = new Channel(
    {
      ...SILENT_TRANSPORT,
      start: started => {
        reader = started;
      },
      beginBlocking: () => true,
      readBlocking: () => {
        const next = waiting.shift();
        if (next === undefined) return false;
        reader?.onRead(Buffer.concat(next));
        return true;
      },
    },
    'isolate',
    {
      onOpen: (_exchange, _kind, head) => void seen.push(`open ${head}`),
      onSignal: (id, kind) => void seen.push(`signal ${id} ${kind}`),
      onClose: () => void seen.push('close'),
    },
  );
  return { channel, seen };
}

function framesOf(write: (writer: FrameWriter) => void): Buffer[] {
  const writer = new FrameWriter();
  write(writer);
  return writer.take().map(part => Buffer.from(part));
}

test('Channel.block() hands on the frames of one exchange, and the others later in their order', async t => {
  const { channel, seen } = scripted([
    framesOf(writer => {
      writer.open(2, 1, 'first', false, null, true);
      writer.signal(2, 5, 'x');
      writer.reply(3, 200, 'other', false, null, true);
    }),
    framesOf(writer => {
      writer.open(4, 1, 'second', false, null, true);
      writer.reply(1, 200, 'awaited', false, null, true);
    }),
  ]);
  const replies: string[] = [];
  const listening = (exchange: Exchange, then = () => {}): Exchange => {
    exchange.listener = {
      onReply: (_status, head) => {
        replies.push(head);
        then();
      },
      onData() {},
      onCredit() {},
      onSent() {},
      onStop() {},
      onFail() {},
    };
    return exchange;
  };
  let isOver = false;
  const awaited = listening(channel.open(7, 'call', true, null, true), () => {
    isOver = true;
  });
  listening(channel.open(7, 'call', true, null, true));
  const signals: string[] = [];
  channel.block({ exchange: awaited.id, onSignal: (id, kind) => void signals.push(`${id} ${kind}`) }, () => isOver);
  t.deepEqual([replies, seen, signals], [['awaited'], [], ['2 5']]);
  await new Promise(resolve => setImmediate(resolve));
  t.deepEqual(replies, ['awaited', 'other']);
  t.deepEqual(seen, ['open first', 'signal 2 5', 'open second']);
});

test('Channel.block() returns when the connection ends', t => {
  const { channel } = scripted([]);
  const exchange = channel.open(7, 'call', true, null, true);
  channel.block({ exchange: exchange.id, onSignal() {} }, () => false);
  t.pass();
});

onLinux(
  'an end whose writing is broken off by the end of its stack is told so, and does not take the connection for closed',
  async t => {
    const program = fileURLToPath(new URL('../programs/torn-end.js', import.meta.url));
    const child = spawn(process.execPath, [program], { stdio: ['ignore', 'inherit', 'inherit', 'pipe'] });
    const exited = new Promise(resolve => child.once('exit', resolve));
    child.stdio[3]?.on('error', () => {});
    t.is(await exited, TORN_EXIT);
    t.regex(exitDetail(`worker exited with code: ${TORN_EXIT}`), /the end of its stack/);
    t.is(exitDetail('worker exited with code: 1'), 'worker exited with code: 1');
  },
);
