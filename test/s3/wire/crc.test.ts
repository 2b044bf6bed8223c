import { crc32 } from 'node:zlib';
import test from 'ava';
import { combineCrcs, crc32c, crc64nvme } from '../../../src/s3/wire/crc.js';

const CHECK = Buffer.from('123456789');

test('crc32c() gives the check value of the catalogue', t => {
  t.is(crc32c(CHECK), 0xe3069283);
});

test('crc64nvme() gives the check value of the catalogue', t => {
  t.deepEqual(crc64nvme(CHECK, { low: 0, high: 0 }), { high: 0xae8b1486, low: 0x0a799888 });
});

test('crc32c() and crc64nvme() give the same when the bytes come in pieces of any length', t => {
  const bytes = Buffer.from(Array.from({ length: 1000 }, (_, i) => (i * 7 + (i >> 3)) & 255));
  const whole = { c: crc32c(bytes), n: crc64nvme(bytes, { low: 0, high: 0 }) };
  for (const size of [1, 3, 7, 8, 9, 64, 333]) {
    let c = 0;
    let n = { low: 0, high: 0 };
    for (let i = 0; i < bytes.length; i += size) {
      c = crc32c(bytes.subarray(i, i + size), c);
      n = crc64nvme(bytes.subarray(i, i + size), n);
    }
    t.deepEqual({ c, n }, whole);
  }
});

test('combineCrcs() gives the CRC of the whole from those of the parts', t => {
  const parts = [Buffer.alloc(1000, 'a'), Buffer.alloc(1000, 'b'), Buffer.from('the end')];
  const whole = Buffer.concat(parts);
  const of64 = (bytes: Uint8Array) => {
    const { low, high } = crc64nvme(bytes, { low: 0, high: 0 });
    return (BigInt(high) << 32n) | BigInt(low);
  };
  const combine = (name: 'CRC32' | 'CRC32C' | 'CRC64NVME', crc: (bytes: Uint8Array) => bigint) =>
    t.is(
      combineCrcs(
        name,
        parts.map(part => ({ crc: crc(part), length: part.length })),
      ),
      crc(whole),
      name,
    );
  combine('CRC32', bytes => BigInt(crc32(bytes)));
  combine('CRC32C', bytes => BigInt(crc32c(bytes)));
  combine('CRC64NVME', of64);
});
