/** The events of an account, as server-sent events. @see https://html.spec.whatwg.org/multipage/server-sent-events.html */

import { guarded } from '../../quotas/guarded.js';
import { INVOCATION_KINDS, type InvocationKind } from '../../quotas/limits.js';
import type { JsonSchema } from '../../quotas/schema/schema.js';
import type { Context } from '../context.js';
import { ApiError, type RawReply, refusalOf } from '../http/envelope.js';
import type { RequestedTailFilter, TailPort } from '../ports.js';
import { ACCOUNT_PATH, type Resource, route } from '../route.js';

const listed = (pattern: string): JsonSchema => ({ type: 'string', pattern: `^${pattern}(,${pattern}){0,31}$` });

/** Lists are joined by commas. */
const TAIL_QUERY: Readonly<Record<string, JsonSchema>> = {
  function: listed('[A-Za-z0-9][A-Za-z0-9._-]{0,62}'),
  kind: listed('[a-z]{1,16}'),
  outcome: listed('[A-Za-z]{1,32}'),
  method: listed('[A-Z]{1,32}'),
  status: listed('[2-5][0-9]{2}'),
  search: { type: 'string', minLength: 1, maxLength: 1024 },
  sample: { type: 'string', pattern: '^(1|0?[.][0-9]{1,6})$' },
};

/** While nothing happens a comment is sent, so that proxies keep the connection and a client that is gone is noticed. */
const KEEP_ALIVE_MS = 15_000;
/** A token may be revoked while it is used: the client asks again. */
const MAX_MS = 3_600_000;

export const TAILS_API: Resource = {
  // biome-ignore format: a table, one route a row
  routes: [
    route({ method: 'GET', path: `${ACCOUNT_PATH}/tail`, id: 'tail', access: 'tails:read', summary: 'Invocations of an account as they end, as server-sent events', query: TAIL_QUERY, answer: { kind: 'raw', mediaType: 'text/event-stream' } }, getTail),
  ],
};

async function getTail(context: Context): Promise<RawReply> {
  const filter = filterOf(new URL(context.request.url).searchParams);
  const mediaType = 'text/event-stream; charset=utf-8';
  if (context.request.method === 'HEAD') return { result: null, raw: '', mediaType };
  let tail: TailPort;
  try {
    tail = context.services.functions.tail(context.account, filter);
  } catch (error) {
    throw refusalOf(error, 'QUERY_INVALID', 'Query: ');
  }
  return { result: null, raw: eventStream(tail, context.request.signal), mediaType };
}

/** The router has checked the form of the values. */
function filterOf(query: URLSearchParams): RequestedTailFilter {
  const list = (name: string): readonly string[] | undefined => query.get(name)?.split(',');
  const functions = list('function');
  const kinds = list('kind')?.map(checkKind);
  const outcomes = list('outcome');
  const methods = list('method');
  const statuses = list('status')?.map(Number);
  const search = query.get('search');
  const sample = query.get('sample');
  return {
    ...(functions !== undefined && { functions }),
    ...(kinds !== undefined && { kinds }),
    ...(outcomes !== undefined && { outcomes }),
    ...(methods !== undefined && { methods }),
    ...(statuses !== undefined && { statuses }),
    ...(search !== null && { search }),
    ...(sample !== null && { sample: Number(sample) }),
  };
}

function checkKind(text: string): InvocationKind {
  const kind = INVOCATION_KINDS.find(known => known === text);
  if (kind !== undefined) return kind;
  throw new ApiError('QUERY_INVALID', `Query: kind is "${text}", expected some of ${INVOCATION_KINDS.join(', ')}`);
}

/** Events `trace` with an invocation each, and `dropped` with the number of those that were not read in time. */
function eventStream(tail: TailPort, signal: AbortSignal): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const endsAt = performance.now() + MAX_MS;
  let next: ReturnType<TailPort['next']> | undefined;
  let isBegun = false;
  let reported = 0;
  const onAbort = guarded((): void => tail.close());
  signal.addEventListener('abort', onAbort, { once: true });
  const end = (): void => {
    signal.removeEventListener('abort', onAbort);
    tail.close();
  };
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const send = (text: string): void => controller.enqueue(encoder.encode(text));
        if (!isBegun) {
          // So that the client knows that what happens from now on will come.
          isBegun = true;
          send(': open\n\n');
          return;
        }
        if (tail.dropped > reported) {
          reported = tail.dropped;
          send(`event: dropped\ndata: ${JSON.stringify({ dropped: reported })}\n\n`);
          return;
        }
        next ??= tail.next();
        const result = await withTimeout(next, Math.min(KEEP_ALIVE_MS, endsAt - performance.now()));
        if (result === undefined && performance.now() < endsAt) {
          send(':\n\n');
          return;
        }
        next = undefined;
        if (result === undefined || result.done === true) {
          end();
          controller.close();
          return;
        }
        send(`event: trace\ndata: ${JSON.stringify(result.value, withoutSecrets)}\n\n`);
      },
      cancel: end,
    },
    { highWaterMark: 0 },
  );
}

/** A token that may watch invocations need not see their credentials. */
function withoutSecrets(key: string, value: unknown): unknown {
  return key === 'unredacted' ? undefined : value;
}

/** undefined when it takes longer. */
async function withTimeout<T>(work: Promise<T>, ms: number): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<undefined>(resolve => {
    timer = setTimeout(() => resolve(undefined), Math.max(0, ms));
    timer.unref();
  });
  try {
    return await Promise.race([work, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
