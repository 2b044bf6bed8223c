/**
 * Calls of functions by a cell that was taken over, which go on by results and stubs that are not there, that are those of others, or that never come; and
 * the answers of such a cell to calls of its own function.
 */

import type { Channel } from '../../../src/protocol/channel.js';
import type { Exchange } from '../../../src/protocol/exchange.js';
import { SignalKind } from '../../../src/protocol/messages.js';
import { ServiceId } from '../../../src/quotas/service-calls.js';
import { call } from './call.js';

/** What waits for a result that never comes is given up by then. */
const WITHIN_MS = 1500;
const ARGUMENTS = Buffer.from('["a",1]');
const LARGE = Buffer.from(`["a","${'x'.repeat(60_000)}"]`);

interface Shape {
  readonly i?: unknown;
  readonly q?: unknown;
  readonly n?: unknown;
  readonly p?: unknown;
  readonly f?: unknown;
  readonly g?: unknown;
  readonly b?: unknown;
}

interface Step {
  readonly service: ServiceId;
  readonly binding: string;
  readonly shape: Shape;
  readonly body?: Uint8Array;
}

const METHOD = ['method'];

function ofOther(shape: Shape, body?: Uint8Array): Step {
  return {
    service: ServiceId.Function,
    binding: 'OTHER',
    shape: { p: METHOD, ...shape },
    ...(body !== undefined && { body }),
  };
}

function onward(shape: Shape, body?: Uint8Array): Step {
  return { service: ServiceId.Stub, binding: '', shape: { p: METHOD, ...shape }, ...(body !== undefined && { body }) };
}

function ofItself(shape: Shape): Step {
  return { service: ServiceId.Function, binding: 'SELF', shape: { p: METHOD, ...shape } };
}

function times<Item>(count: number, make: (at: number) => Item): Item[] {
  return Array.from({ length: count }, (_, at) => make(at));
}

const NUMBERS = [0, 1, 2, 7, 4_294_967_295, 9_007_199_254_740_991, -1, 0.5, '1', null, [], {}, true];

const STEPS: readonly Step[] = [
  // Results and stubs that are not there, and what is none.
  ...NUMBERS.flatMap(number => [onward({ q: number }), onward({ i: number }), onward({ n: number })]),
  ...NUMBERS.flatMap(number => [ofOther({ q: number }), ofOther({ i: number }), onward({ i: number, q: number })]),
  ...times(300, at => onward({ i: at })),
  // The number of a result twice, that of one that goes on by itself, and more names than there may be.
  ...times(5, () => ofOther({ n: 5 })),
  onward({ q: 6, n: 6 }),
  onward({ q: 1, p: times(65, () => 'x') }),
  // References to what it does not have, over and over.
  ...times(20, at =>
    ofOther({ n: 1000 + at, f: times(1000, index => (index % 2 === 0 ? { x: index } : { i: index })) }),
  ),
  ...times(20, at => ofOther({ f: times(1000, index => ({ x: index + at * 1000 })) })),
  // Many that wait for a result which never comes, with large bodies; and a row of which each waits for the one before.
  ofOther({ n: 10_000, p: ['never'] }),
  ...times(400, at => onward({ q: 10_000, n: 10_001 + at }, LARGE)),
  ...times(200, at => onward({ q: 10_400 + at, n: 10_401 + at })),
  // Its own function, whose answers are those below: each result is gone on with.
  ...times(150, at => [
    ofItself({ n: 20_000 + at }),
    onward({ q: 20_000 + at, n: 30_000 + at }),
    onward({ i: at }),
  ]).flat(),
];

/** Makes them all at once; resolves with how many were answered and refused, and what was in the answers. */
export function pipelines(channel: Channel, invocation: number): Promise<string> {
  let [answered, failed, open] = [0, 0, STEPS.length];
  let texts = '';
  const reasons = new Map<string, number>();
  return new Promise(resolve => {
    for (const { service, binding, shape, body } of STEPS) {
      const head = `${invocation}\ncall\n${binding}\n${JSON.stringify(shape)}`;
      call(
        channel,
        service,
        head,
        true,
        (reply, reason) => {
          const [name = '', message = ''] = (reason ?? '').split('\n');
          if (reason === undefined && !reply.startsWith('{"e"')) answered++;
          else failed++;
          const text = reason === undefined ? reply.slice(0, 80) : `${name}: ${message}`.slice(0, 80);
          reasons.set(text, (reasons.get(text) ?? 0) + 1);
          texts += /NEIGHBOUR[^"]*/.exec(reply)?.[0] ?? '';
          if (--open === 0) {
            resolve(
              JSON.stringify({ calls: STEPS.length, answered, failed, texts, reasons: Object.fromEntries(reasons) }),
            );
          }
        },
        { body: body ?? ARGUMENTS, withinMs: WITHIN_MS },
      );
    }
  });
}

const ANSWERS = [
  '',
  'null',
  '[]',
  '{',
  '{}',
  '{"l":true}',
  '{"f":[{"i":1}]}',
  '{"f":[{"i":999999},{"x":1}]}',
  '{"f":[{"x":1},{"x":1},{"x":2}]}',
  '{"f":[{}]}',
  '{"f":[{"x":-1}]}',
  `{"f":[${'{"x":1},'.repeat(1000)}{"x":1}]}`,
  '{"k":[1,2,3,99999]}',
  '{"k":[null]}',
  '{"b":[4294967295]}',
  '{"b":[-1]}',
  '{"b":[1e300,1e300]}',
  '{"s":true}',
  '{"b":[0],"s":true,"f":[{"x":3}],"k":[1]}',
  '{"e":["Error","NEIGHBOUR"]}',
];

let answers = 0;

/** An answer of another kind each time; every seventh never comes, every fifth is followed by the failure of the invocation. */
export function answerCall(channel: Channel, exchange: Exchange): void {
  const at = answers++;
  if (at % 7 === 6) return;
  const status = at % 11 === 10 ? 0 : 200;
  exchange.reply(status, ANSWERS[at % ANSWERS.length] ?? '', true, at % 2 === 0 ? null : Buffer.from('[1]'), true);
  if (at % 5 === 4) exchange.fail('The call has failed');
  channel.signal(exchange.id, SignalKind.Done, Buffer.alloc(8));
}
