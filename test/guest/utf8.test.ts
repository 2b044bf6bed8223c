/** UTF-8 in the guest realm: what it encodes by itself is compared with what Node encodes. */
import test from 'ava';
import fc from 'fast-check';
import { DecodeFlag, Op } from '../../src/isolate/ops/table.js';
import { type GuestModules, guestModules } from './guest-modules.js';

interface Modules {
  utf8: {
    encodeUtf8(text: string): Uint8Array;
    encodeUtf8Into(text: string, target: Uint8Array, room: number): { read: number; written: number };
    decodeUtf8(bytes: Uint8Array): string;
    decodeUtf8WithBom(bytes: Uint8Array): string;
  };
}

const newRealm = await guestModules<Modules>('utf8');

/** The host's end, as the op table says it. */
function withHost(): GuestModules<Modules> {
  const realm = newRealm();
  let written = 0;
  realm.answer(Op.TextEncode, (text, target) => {
    if (!ArrayBuffer.isView(target) || typeof text !== 'string') throw new TypeError('No text and target');
    const result = new TextEncoder().encodeInto(text, new Uint8Array(target.buffer, target.byteOffset, target.length));
    written = result.written;
    return result.read;
  });
  realm.answer(Op.TextEncodeWritten, () => written);
  realm.answer(Op.TextLength, text => Buffer.byteLength(String(text)));
  return realm;
}

/** Text of every kind: ASCII, all planes, and lone halves of surrogate pairs. */
const anyText = (maxLength: number): fc.Arbitrary<string> =>
  fc
    .array(
      fc.oneof(
        fc.integer({ min: 0, max: 0x7f }),
        fc.integer({ min: 0x80, max: 0x7ff }),
        fc.integer({ min: 0xd7f0, max: 0xe010 }),
        fc.integer({ min: 0, max: 0xffff }),
      ),
      { maxLength },
    )
    .map(codes => String.fromCharCode(...codes));

test('encodeUtf8() gives the bytes of every text, and asks the host for none that is short', t => {
  const { modules, takeOps } = withHost();
  fc.assert(
    fc.property(anyText(160), text => {
      t.deepEqual(Buffer.from(modules.utf8.encodeUtf8(text)), Buffer.from(text));
    }),
  );
  t.deepEqual(takeOps(), []);
});

for (const [what, text, ops] of [
  ['160 characters of three bytes', '\u20ac'.repeat(160), []],
  ['160 characters that end in half a pair', `${'a'.repeat(159)}\ud83d`, []],
  ['half a pair before a character that is none', '\ud83da', []],
  ['the second half of a pair first', '\ude00\ud83d', []],
  ['161 characters of ASCII', 'a'.repeat(161), ['TextEncode']],
  ['161 characters, one of which is not ASCII', `${'a'.repeat(160)}\u00e4`, ['TextEncode', 'TextLength', 'TextEncode']],
  ['161 characters that end in half a pair', `${'a'.repeat(160)}\ud83d`, ['TextEncode', 'TextLength', 'TextEncode']],
] as const) {
  test(`encodeUtf8() gives the bytes of ${what}`, t => {
    const { modules, takeOps } = withHost();
    const bytes = modules.utf8.encodeUtf8(text);
    t.deepEqual(Buffer.from(bytes), Buffer.from(text));
    t.is(bytes.buffer.byteLength, bytes.length, 'a buffer of its own');
    t.deepEqual(
      takeOps().map(([name]) => name),
      ops,
    );
  });
}

test('encodeUtf8Into() writes whole characters, as many as there is room for', t => {
  const { modules } = withHost();
  fc.assert(
    fc.property(anyText(60), fc.integer({ min: 0, max: 100 }), (text, room) => {
      const [target, expected] = [new Uint8Array(room), new Uint8Array(room)];
      t.deepEqual(
        { ...modules.utf8.encodeUtf8Into(text, target, room) },
        { ...new TextEncoder().encodeInto(text, expected) },
      );
      // What a try without the host has written is written again, or overwritten.
      t.deepEqual(target, expected);
    }),
  );
});

for (const [what, text, room, isHostAsked] of [
  ['short ASCII that fits', 'a'.repeat(48), 48, false],
  ['an empty text into no room', '', 0, false],
  ['short ASCII that does not fit', 'aa', 1, true],
  ['49 characters of ASCII', 'a'.repeat(49), 49, true],
  ['short text that ends in another character', 'aaa\u00e4', 10, true],
] as const) {
  test(`encodeUtf8Into() asks the host${isHostAsked ? '' : ' nothing'} for ${what}`, t => {
    const { modules, takeOps } = withHost();
    modules.utf8.encodeUtf8Into(text, new Uint8Array(room), room);
    t.deepEqual(
      takeOps().map(([name]) => name),
      isHostAsked ? ['TextEncode', 'TextEncodeWritten'] : [],
    );
  });
}

test('decodeUtf8() and decodeUtf8WithBom() ask the host, but not about nothing', t => {
  const { modules, takeOps, answer } = newRealm();
  answer(Op.TextDecode, () => 'decoded');
  const bytes = Uint8Array.of(0xef, 0xbb, 0xbf);
  t.is(modules.utf8.decodeUtf8(new Uint8Array()), '');
  t.is(modules.utf8.decodeUtf8WithBom(new Uint8Array()), '');
  t.deepEqual(takeOps(), []);
  t.is(modules.utf8.decodeUtf8(bytes), 'decoded');
  t.is(modules.utf8.decodeUtf8WithBom(bytes), 'decoded');
  t.deepEqual(takeOps(), [
    ['TextDecode', Buffer.from(bytes), 'utf-8', 0],
    ['TextDecode', Buffer.from(bytes), 'utf-8', DecodeFlag.KeepBom],
  ]);
});
