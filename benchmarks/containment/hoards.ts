/**
 * What one account makes the host hold: functions that take memory or descriptors without leaving their realm, and cells that have been taken
 * over, by a program in JavaScript or in C.
 */
import type { Plan } from '../../src/quotas/limits.js';

export interface Hoard {
  readonly name: string;
  readonly plan: Plan;
  readonly functions: number;
  /** Of each function. */
  readonly requests: number;
  /** Whether a request is made when the one before was answered, one function after the other; else all are made at once. */
  readonly isInTurn?: boolean;
  /** What it does, in a few words. */
  readonly does: string;
  /** A handler's body. `FILES` is a bucket with an object `large`. */
  readonly body: string;
}

/** Bytes of the object `large`. */
export const LARGE_BYTES = 8 * 1000 * 1000;

/** A body that stops after its beginning. */
const STALLED =
  'new ReadableStream({ start(controller) { controller.enqueue(new Uint8Array(32_768)); }, pull: () => new Promise(() => {}) })';

/** Puts that take all connections, and more that wait for one. */
const waitingPuts = (more: number, characters: number): string => `
  const stalled = () => ${STALLED};
  const options = { customMetadata: { x: '\u3042'.repeat(${characters}) } };
  for (let at = 0; at < 6; at++) env.FILES.put('key-' + at, stalled()).catch(() => {});
  for (let at = 0; at < ${more}; at++) {
    env.FILES.put('more-' + at, stalled(), options).catch(() => {});
    // A call that needs no connection: when it is answered, the host has read the put, which is garbage here.
    await env.FILES.resumeMultipartUpload('none', 'none').abort().catch(() => {});
  }
  // The answer goes on for as long as its reader stays, and with it the invocation.
  return new Response(new ReadableStream({ pull: () => new Promise(() => {}) }));`;

export const HOARDS: readonly Hoard[] = [
  {
    name: 'waiting-puts',
    plan: 'standard',
    functions: 6,
    requests: 1,
    isInTurn: true,
    does: 'six puts that stall take all connections, and 130 with large metadata wait for one',
    body: waitingPuts(130, 900_000),
  },
  {
    name: 'waiting-puts-free',
    plan: 'free',
    functions: 2,
    requests: 150,
    isInTurn: true,
    does: 'the same with 10 ms of CPU time: a single put waits in each of many requests',
    body: waitingPuts(1, 300_000),
  },
  {
    name: 'unread-objects',
    plan: 'free',
    functions: 2,
    requests: 150,
    does: 'gets six objects and never reads them, in each of many requests',
    body: `
  const objects = await Promise.all([1, 2, 3, 4, 5, 6].map(() => env.FILES.get('large')));
  await new Promise(() => {});
  return new Response(String(objects.length));`,
  },
  {
    name: 'unread-fetches',
    plan: 'standard',
    functions: 4,
    requests: 40,
    does: 'gets six endless answers over the network and never reads them, in each of many requests',
    body: `
  const answers = await Promise.all([1, 2, 3, 4, 5, 6].map(() => fetch(env.SOURCE)));
  await new Promise(() => {});
  return new Response(String(answers.length));`,
  },
];

/** Hoards of a cell that was taken over, on one connection (hijacked/cell.ts). */
export const HIJACKED_HOARDS = [
  { name: 'pinned-buffers', does: 'pieces of bodies behind frames as long as may be, kept as views of both' },
] as const;

/** What native code in the place of a cell does, by the arguments of test/fixtures/hostile-cell.c. */
export interface NativeHoard {
  readonly name: string;
  readonly does: string;
  readonly args: readonly [what: string, count: number, mebibytes: number];
}

export const NATIVE_HOARDS: readonly NativeHoard[] = [
  { name: 'native-memory', does: 'takes 2,000 MB', args: ['resident', 1, 2000] },
  { name: 'native-memfd', does: 'writes 2,000 MB to a file in memory', args: ['memfd', 1, 2000] },
  { name: 'native-children', does: 'has 30 children with 64 MB each', args: ['children', 30, 64] },
  { name: 'native-forks', does: 'has 300 children', args: ['children', 300, 0] },
  { name: 'native-threads', does: 'has 300 threads', args: ['threads', 300, 0] },
  { name: 'native-disk', does: 'writes 500 MB to a file in /tmp', args: ['disk', 1, 500] },
  { name: 'native-burn', does: 'has two threads that burn, without an invocation', args: ['burn', 2, 0] },
];

/** The text of a hoard's function. Without `?hoard` it answers at once, so that it can be started. */
export function sourceOf({ body }: Pick<Hoard, 'body'>): string {
  return `export default {
  async fetch(request, env) {
    if (!request.url.endsWith('?hoard')) return new Response('fine');
    ${body}
  },
};
`;
}
