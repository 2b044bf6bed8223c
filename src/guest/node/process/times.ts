/** The clock and the memory of the isolate. */
import { Op } from '../../../isolate/ops/table.ts';
import { opString } from '../../bridge.ts';
import { monotonicNow } from '../../web/base/clock.ts';
import { invalidArgType, outOfRange } from '../errors.ts';

const NANOSECONDS = 1_000_000_000;
const NANOSECONDS_PER_MS = 1_000_000;

function highResolution(earlier?: unknown): [number, number] {
  const now = Math.round(monotonicNow() * NANOSECONDS_PER_MS);
  const seconds = Math.floor(now / NANOSECONDS);
  const nanoseconds = now % NANOSECONDS;
  if (earlier === undefined) return [seconds, nanoseconds];
  if (!Array.isArray(earlier)) throw invalidArgType('time', 'Array', earlier);
  if (earlier.length !== 2) throw outOfRange('time', '2', earlier.length);
  const [earlierSeconds, earlierNanoseconds] = earlier as [number, number]; // as Node, which looks at no more
  const difference = nanoseconds - earlierNanoseconds;
  if (difference < 0) return [seconds - earlierSeconds - 1, difference + NANOSECONDS];
  return [seconds - earlierSeconds, difference];
}

/** Times come in steps of a tenth of a millisecond, as with performance.now(). */
export const hrtime = Object.assign((earlier?: unknown): [number, number] => highResolution(earlier), {
  bigint: (): bigint => BigInt(Math.round(monotonicNow() * NANOSECONDS_PER_MS)),
});

export function uptime(): number {
  return monotonicNow() / 1000;
}

interface MemoryUsage {
  readonly rss: number;
  readonly heapTotal: number;
  readonly heapUsed: number;
  readonly external: number;
  readonly arrayBuffers: number;
}

function usage(): MemoryUsage {
  const [heapTotal = 0, heapUsed = 0, external = 0] = opString(Op.MemoryUsage).split(',').map(Number);
  return { rss: heapTotal + external, heapTotal, heapUsed, external, arrayBuffers: external };
}

/** Bytes of the isolate, in which other functions have no part. */
export const memoryUsage = Object.assign((): MemoryUsage => usage(), { rss: (): number => usage().rss });
