import test from 'ava';
import { FrameType, HEADER_BYTES } from '../../../src/protocol/frames/frame-layout.js';
import { TRUSTED_BOUNDS } from '../../../src/protocol/frames/frame-reader.js';
import { GatedReader } from '../../../src/protocol/frames/gated-reader.js';
import type { HostShare } from '../../../src/quotas/host/host-share.js';
import { listening } from '../frame-texts.js';
import { SILENT_TRANSPORT } from '../silent-transport.js';

const nextRound = (): Promise<void> => new Promise(resolve => setImmediate(resolve));

function signal(text: string, type: number = FrameType.Signal): Buffer {
  const frame = Buffer.alloc(HEADER_BYTES + text.length);
  frame.writeUInt32LE(text.length, 0);
  frame.writeUInt8(type, 4);
  frame.writeUInt32LE(2, 5);
  frame.write(text, HEADER_BYTES);
  return frame;
}

interface Rig {
  readonly reader: GatedReader;
  readonly seen: string[];
  /** What the transport was asked to do. */
  readonly asked: string[];
  readonly broken: string[];
  /** What is counted to the account. */
  counted(): number;
  charges(): number;
  close(): void;
  open(): void;
}

function rig(framesAtOnce = Number.POSITIVE_INFINITY): Rig {
  let isOpen = true;
  let counted = 0;
  let charges = 0;
  let waiting: (() => void)[] = [];
  const share = {
    get isOpen() {
      return isOpen;
    },
    bytes: {
      countBuffers: (bytes: number) => {
        counted += bytes;
      },
    },
    charge: () => {
      charges++;
    },
    whenOpen: (listener: () => void) => void waiting.push(listener),
  } as unknown as HostShare; // all that a reader asks of it
  const { seen, reader: frames } = listening({ ...TRUSTED_BOUNDS, framesAtOnce });
  const asked: string[] = [];
  const broken: string[] = [];
  const transport = {
    ...SILENT_TRANSPORT,
    pause: () => void asked.push('pause'),
    resume: () => void asked.push('resume'),
  };
  const reader = new GatedReader(transport, frames, share, error => {
    broken.push(error instanceof Error ? error.message : String(error));
    reader.close();
  });
  return {
    reader,
    seen,
    asked,
    broken,
    counted: () => counted,
    charges: () => charges,
    close: () => {
      isOpen = false;
    },
    open: () => {
      isOpen = true;
      const listeners = waiting;
      waiting = [];
      for (const listener of listeners) listener();
    },
  };
}

test('GatedReader reads at once while the account may be read, and charges the time', t => {
  const { reader, seen, asked, charges } = rig();
  reader.read(signal('1a'));
  reader.read(signal('1b'));
  t.deepEqual(seen, ['signal 2 49 a', 'signal 2 49 b']);
  t.deepEqual(asked, []);
  t.is(charges(), 2);
});

test('GatedReader keeps and counts what comes while the account may not be read, and pauses the connection once', t => {
  const { reader, seen, asked, counted, close, open } = rig();
  close();
  reader.read(signal('1a'));
  reader.read(signal('1b'));
  t.deepEqual(seen, []);
  t.deepEqual(asked, ['pause']);
  t.is(counted(), 2 * (HEADER_BYTES + 2));
  open();
  t.deepEqual(seen, ['signal 2 49 a']);
  t.is(counted(), HEADER_BYTES + 2);
});

test('GatedReader reads what waits one after the other, in later rounds, and resumes the connection behind it', async t => {
  const { reader, seen, asked, counted, close, open } = rig();
  close();
  for (const text of ['1a', '1b', '1c']) reader.read(signal(text));
  open();
  reader.read(signal('1d'));
  t.is(seen.length, 1, 'what comes meanwhile waits its turn');
  while (seen.length < 4) await nextRound();
  t.deepEqual(seen.join(), 'signal 2 49 a,signal 2 49 b,signal 2 49 c,signal 2 49 d');
  t.deepEqual(asked, ['pause', 'resume']);
  t.is(counted(), 0);
});

test('GatedReader stops in the middle when the account may no longer be read', async t => {
  const { reader, seen, asked, close, open } = rig();
  close();
  for (const text of ['1a', '1b']) reader.read(signal(text));
  open();
  close();
  await nextRound();
  await nextRound();
  t.is(seen.length, 1);
  open();
  await nextRound();
  t.is(seen.length, 2);
  t.deepEqual(asked, ['pause', 'resume']);
});

test('GatedReader hands on so many frames in a round, and goes on in the next', async t => {
  const { reader, seen, asked, counted } = rig(2);
  reader.read(Buffer.concat(Array.from({ length: 5 }, () => signal('1'))));
  t.is(seen.length, 2);
  t.true(counted() > 0, 'the rest is counted');
  await nextRound();
  t.is(seen.length, 4);
  await nextRound();
  t.is(seen.length, 5);
  t.deepEqual(asked, ['pause', 'resume']);
  t.is(counted(), 0);
});

test('GatedReader counts the beginning of a frame until the rest has come', t => {
  const { reader, counted } = rig();
  const frame = signal('1abcdef');
  reader.read(Buffer.from(frame.subarray(0, 12)));
  t.true(counted() >= 12);
  reader.read(Buffer.from(frame.subarray(12)));
  t.is(counted(), 0);
});

test('GatedReader.close() gives back all that is counted, and hands on nothing more', async t => {
  const { reader, seen, counted, close, open } = rig();
  reader.read(signal('1abcdef').subarray(0, 12));
  close();
  reader.read(signal('1b'));
  reader.close();
  t.is(counted(), 0);
  open();
  reader.read(signal('1c'));
  reader.close();
  await nextRound();
  t.deepEqual(seen, []);
  t.is(counted(), 0);
});

test('GatedReader reports what breaks the protocol once, and reads no further', async t => {
  const { reader, seen, broken, counted, close, open } = rig();
  close();
  reader.read(signal('', 99));
  reader.read(signal('1a'));
  open();
  await nextRound();
  t.deepEqual(broken, ['A frame has the unknown type 99']);
  t.deepEqual(seen, []);
  t.is(counted(), 0);
});

test('GatedReader without an account reads all at once', t => {
  const { seen, reader: frames } = listening();
  const transport = {
    ...SILENT_TRANSPORT,
  };
  const reader = new GatedReader(transport, frames, undefined, error => t.fail(String(error)));
  for (let at = 0; at < 10; at++) reader.read(signal('1a'));
  t.is(seen.length, 10);
});
