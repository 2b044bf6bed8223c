/** Calls in a loop, for so long: how many a second, or how long each takes. */
import { performance } from 'node:perf_hooks';
import { median } from './statistics.js';

export type Call = () => Promise<unknown>;

/** Calls a second with so many under way at once. */
export async function callsPerSecond(call: Call, inFlight: number, seconds: number): Promise<number> {
  let calls = 0;
  const started = performance.now();
  const until = started + seconds * 1000;
  const work = async (): Promise<void> => {
    while (performance.now() < until) {
      await call();
      calls++;
    }
  };
  await Promise.all(Array.from({ length: inFlight }, work));
  return (calls * 1000) / (performance.now() - started);
}

/** Milliseconds of each call, one after the other. */
export async function callTimes(call: Call, seconds: number): Promise<number[]> {
  const times: number[] = [];
  const until = performance.now() + seconds * 1000;
  for (let now = performance.now(); now < until; ) {
    await call();
    const end = performance.now();
    times.push(end - now);
    now = end;
  }
  return times;
}

/** The median time of one call, in microseconds. */
export async function medianMicroseconds(call: Call, seconds: number): Promise<number> {
  return median(await callTimes(call, seconds)) * 1000;
}

/** Milliseconds that it takes. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}

/** Milliseconds that one of so many takes, one after the other: their mean. */
export async function meanTime(times: number, work: () => Promise<unknown>): Promise<number> {
  const all = async (): Promise<void> => {
    for (let at = 0; at < times; at++) await work();
  };
  return (await timed(all)) / times;
}
