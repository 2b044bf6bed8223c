/** The clock and the random numbers of a run that may be paused: both are the same when its code runs again. */
import { Op } from '../../isolate/ops/table.ts';
import { op } from '../bridge.ts';
import { DateCtor, defineProperty, typedArraySubarray, Uint8ArrayCtor } from '../primordials.ts';
import { recordClock, wallNow } from '../web/base/clock.ts';

const { construct } = Reflect;

/** Bytes that are taken from the host realm at once: 8 for a number. */
const BATCH_BYTES = 1024;
const TWO_TO_THE_32 = 4_294_967_296;
const TWO_TO_THE_53 = 9_007_199_254_740_992;

/** Before code of the run is evaluated. */
export function recordRealm(clockMs: number): void {
  recordClock(clockMs);
  replaceDate();
  replaceRandom();
}

function replaceDate(): void {
  function RecordedDate(this: unknown, ...args: unknown[]): unknown {
    if (new.target === undefined) return `${new DateCtor(wallNow())}`;
    return construct(DateCtor, args.length === 0 ? [wallNow()] : args, new.target);
  }
  const methods = { now: wallNow, parse: DateCtor.parse, UTC: DateCtor.UTC };
  for (const name of ['now', 'parse', 'UTC'] as const) define(RecordedDate, name, methods[name]);
  defineProperty(methods.now, 'name', { __proto__: null, value: 'now' } as PropertyDescriptor);
  const fixed = { __proto__: null, writable: false, enumerable: false, configurable: true } as PropertyDescriptor;
  defineProperty(RecordedDate, 'name', { ...fixed, value: 'Date' });
  defineProperty(RecordedDate, 'length', { ...fixed, value: 7 });
  defineProperty(RecordedDate, 'prototype', { ...fixed, value: DateCtor.prototype, configurable: false });
  define(DateCtor.prototype, 'constructor', RecordedDate);
  define(globalThis, 'Date', RecordedDate);
}

function replaceRandom(): void {
  const bytes = new Uint8ArrayCtor(BATCH_BYTES);
  let at = BATCH_BYTES;
  define(Math, 'random', function random(): number {
    if (at === BATCH_BYTES) {
      op(Op.Random, typedArraySubarray(bytes, 0));
      at = 0;
    }
    const high = word(bytes, at) & 0x1f_ffff;
    const low = word(bytes, at + 4) >>> 0;
    at += 8;
    return (high * TWO_TO_THE_32 + low) / TWO_TO_THE_53;
  });
}

function word(bytes: Uint8Array, at: number): number {
  let value = 0;
  for (let i = 0; i < 4; i++) value = (value << 8) | (bytes[at + i] ?? 0);
  return value;
}

function define(target: object, name: string, value: unknown): void {
  const descriptor = { __proto__: null, value, writable: true, enumerable: false, configurable: true };
  defineProperty(target, name, descriptor as PropertyDescriptor);
}
