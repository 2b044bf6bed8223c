/** The calls that stand beside a body: those of buckets here, the others in stored-bodies.ts. */
import type { GetOutcome, PutOptions, TransferChecksum } from '../../../bindings/bucket/engine.js';
import type { BodyCalls, CallArguments, CallResult, PutArguments } from '../calls.js';
import { lostError } from '../outgoing-call.js';
import { packHead } from '../packets.js';
import type { ServedBuckets } from './served-buckets.js';
import type { ServedCall } from './served-call.js';
import { answerDatabaseCall, DATABASE_CALLS, type DatabaseBodyCall } from './served-databases.js';
import type { ServedObjects } from './served-objects.js';
import { answerStoredCall, type StoredBodyCall } from './stored-bodies.js';

type BodyCall = { readonly [Name in keyof BodyCalls]: readonly [Name, ...CallArguments<Name>] }[keyof BodyCalls];

const BUCKET_NAMES: ReadonlySet<string> = new Set<keyof BodyCalls>(['bucket.put', 'bucket.uploadPart', 'bucket.get']);
const STORED_NAMES: ReadonlySet<string> = new Set<StoredBodyCall[0]>(['kv.get', 'kv.put', 'cache.match', 'cache.put']);
const NOTHING = new Uint8Array(0);

export function isBodyCall(name: string): boolean {
  return BUCKET_NAMES.has(name) || STORED_NAMES.has(name) || DATABASE_CALLS.has(name);
}

/** @param value the name of the call, and its arguments */
export async function answerBodyCall(
  call: ServedCall,
  value: unknown,
  buckets: ServedBuckets,
  objects: ServedObjects,
): Promise<void> {
  const request = value as BodyCall; // the application is of the same version, and its table has this type
  if (isOfDatabase(request)) {
    await answerDatabaseCall(call, request, objects);
    return;
  }
  if (isStored(request)) {
    await answerStoredCall(call, request, objects);
    return;
  }
  const { workOf } = objects;
  const bucket = await buckets.of(request[1]);
  const work = workOf?.(request[1].account);
  const body = call.body ?? NOTHING;
  switch (request[0]) {
    case 'bucket.put': {
      const [, , key, options] = request;
      call.replyValue(await bucket.put(key, body, putOptions(call, options), work));
      return;
    }
    case 'bucket.uploadPart': {
      const [, , key, uploadId, partNumber, options] = request;
      call.replyValue(await bucket.uploadPart(key, uploadId, partNumber, body, putOptions(call, options), work));
      return;
    }
    case 'bucket.get': {
      const [, , key, options] = request;
      answerGet(call, await bucket.get(key, options, work));
    }
  }
}

function isOfDatabase(request: BodyCall): request is DatabaseBodyCall {
  return DATABASE_CALLS.has(request[0]);
}

function isStored(request: BodyCall): request is StoredBodyCall {
  return STORED_NAMES.has(request[0]);
}

function answerGet(call: ServedCall, outcome: GetOutcome): void {
  if (outcome.kind !== 'found') {
    call.replyValue(outcome);
    return;
  }
  const { object, content } = outcome;
  if (call.isFailed) {
    content.release();
    return;
  }
  const { offset, length } = content;
  const answer: CallResult<'bucket.get'> = { kind: 'found', object, offset, length };
  call.replyWithBody(packHead(answer), content.view?.() ?? content.open());
}

function putOptions(call: ServedCall, { transferChecksum, ...options }: PutArguments): PutOptions {
  // A body that is whole is not waited for.
  const waiting = call.body instanceof Uint8Array ? options : { ...options, signal: call.signal };
  if (transferChecksum === undefined) return waiting;
  return {
    ...waiting,
    transferChecksum: async () => (transferChecksum === 'trailer' ? trailerOf(call) : transferChecksum),
  };
}

/** The application sends it before the end of the body. */
function trailerOf({ trailer }: ServedCall): TransferChecksum | undefined {
  if (trailer === undefined) throw lostError();
  const { checksum }: { readonly checksum?: TransferChecksum } = JSON.parse(trailer);
  return checksum;
}
