/** The calls of key-value namespaces and caches that stand beside a body. */
import type { BodyCalls, CallArguments, CallResult } from '../calls.js';
import { packHead } from '../packets.js';
import { namespaceAt } from './binding-handlers.js';
import type { ServedCall } from './served-call.js';
import type { ServedObjects } from './served-objects.js';

type StoredName = Exclude<keyof BodyCalls, `bucket.${string}` | `sql.${string}`>;
export type StoredBodyCall = { readonly [Name in StoredName]: readonly [Name, ...CallArguments<Name>] }[StoredName];

const NOTHING = new Uint8Array(0);

export async function answerStoredCall(
  call: ServedCall,
  request: StoredBodyCall,
  objects: ServedObjects,
): Promise<void> {
  const { directories, workOf } = objects;
  switch (request[0]) {
    case 'kv.get': {
      const [, at, key] = request;
      const found = await (await namespaceAt(objects, at)).get(key, workOf?.(at.account));
      if (found === null) {
        call.replyValue(null);
        return;
      }
      const { content, ...result } = found;
      if (call.isFailed) content.release();
      else call.replyWithBody(packHead(result satisfies CallResult<'kv.get'>), content.view?.() ?? content.open());
      return;
    }
    case 'kv.put': {
      const [, at, key, options] = request;
      const namespace = await namespaceAt(objects, at);
      await namespace.put(key, call.body ?? NOTHING, { ...options, ...waiting(call) }, workOf?.(at.account));
      call.replyValue(undefined);
      return;
    }
    case 'cache.match': {
      const [, account, query] = request;
      const found = await directories.caches(account).match(query, workOf?.(account));
      if (found.kind === 'miss') {
        call.replyValue({ kind: 'miss', epoch: found.epoch } satisfies CallResult<'cache.match'>);
        return;
      }
      const { status, statusText, headers, ageSeconds, size, isStale, ttlSeconds, epoch, body } = found;
      const rest = { kind: 'hit', status, statusText, headers, ageSeconds, size, isStale, ttlSeconds, epoch } as const;
      const answer: CallResult<'cache.match'> = { ...rest, hasBody: body !== null };
      call.replyWithBody(packHead(answer), body ?? NOTHING);
      return;
    }
    case 'cache.put': {
      const [, account, response, hasBody, options] = request;
      const body = hasBody ? (call.body ?? NOTHING) : null;
      const caches = directories.caches(account);
      call.replyValue(await caches.put(response, body, { ...options, ...waiting(call) }, workOf?.(account)));
    }
  }
}

/** A body that is whole is not waited for. */
function waiting(call: ServedCall): { readonly signal?: AbortSignal } {
  return call.body instanceof Uint8Array ? {} : { signal: call.signal };
}
