/** A bucket whose storage is in the services process. */

import type {
  BucketEngine,
  CompletedUpload,
  Condition,
  GetOutcome,
  ListPage,
  ListQuery,
  ObjectRecord,
  PartRecord,
  PutOptions,
  TransferChecksum,
  UploadOptions,
  UploadRecord,
  UploadRules,
} from '../../bindings/bucket/engine.js';
import type { StoreStorageClass } from '../../bindings/bucket/types.js';
import { chargedBody } from '../../bindings/charged-body.js';
import type { ServiceBody } from '../../bindings/service.js';
import { guarded } from '../../quotas/guarded.js';
import type { CallWork } from '../../quotas/host/call-work.js';
import { HOST_COSTS } from '../../quotas/host/host-costs.js';
import type {
  BodyCalls,
  BucketAddress,
  CallArguments,
  CallResult,
  GetOptions,
  PutArguments,
  UploadQuery,
  ValueCalls,
} from './calls.js';
import { bodyOf, OutgoingCall } from './outgoing-call.js';
import { packHead } from './packets.js';
import { remoteContent } from './remote-content.js';
import { type RemoteLink, resultOf } from './remote-link.js';
import { sendBody } from './send-body.js';

type BodyOptions = Pick<PutOptions, 'hashes' | 'transferChecksum' | 'signal' | 'bounds'>;
type BucketCall = Extract<keyof ValueCalls, `bucket.${string}`>;
type WritingCall = 'bucket.put' | 'bucket.uploadPart';

/**
 * A `work` that is given is charged with what this process does for the call; what the services process does is counted there.
 */
export class RemoteBucket implements BucketEngine {
  readonly id: string;
  readonly name: string;
  readonly storageClass: StoreStorageClass;
  readonly #link: RemoteLink;
  readonly #address: BucketAddress;

  constructor(link: RemoteLink, address: BucketAddress, storageClass: StoreStorageClass) {
    this.#link = link;
    this.#address = address;
    this.id = address.id;
    this.name = address.name;
    this.storageClass = storageClass;
  }

  head(key: string, work?: CallWork): Promise<ObjectRecord | null> {
    return this.#call(work, 'bucket.head', this.#address, key);
  }

  async get(key: string, options: GetOptions, work?: CallWork): Promise<GetOutcome> {
    work?.charge(HOST_COSTS.callMs);
    const head = packHead(['bucket.get', this.#address, key, options]);
    return this.#link.retried('bucket.get', async channel => {
      const call = new OutgoingCall(channel, head, null);
      const reply = await call.reply;
      const answer = await resultOf<'bucket.get'>(reply);
      if (answer.kind !== 'found') return answer;
      const { object, offset, length } = answer;
      return { kind: 'found', object, content: remoteContent(offset, length, reply.body, work) };
    });
  }

  put(key: string, body: ServiceBody, options: PutOptions, work?: CallWork): Promise<ObjectRecord | null> {
    return this.#write<'bucket.put'>(body, options, work, given => ['bucket.put', this.#address, key, given]);
  }

  async delete(keys: readonly string[], work?: CallWork): Promise<void> {
    await this.#call(work, 'bucket.delete', this.#address, keys);
  }

  list(query: ListQuery, work?: CallWork): Promise<ListPage> {
    return this.#call(work, 'bucket.list', this.#address, query);
  }

  createUpload(key: string, options: UploadOptions & UploadRules, work?: CallWork): Promise<UploadRecord> {
    return this.#call(work, 'bucket.createUpload', this.#address, key, options);
  }

  uploadPart(
    key: string,
    uploadId: string,
    partNumber: number,
    body: ServiceBody,
    options: BodyOptions,
    work?: CallWork,
  ): Promise<PartRecord> {
    return this.#write<'bucket.uploadPart'>(body, options, work, given => [
      'bucket.uploadPart',
      this.#address,
      key,
      uploadId,
      partNumber,
      given,
    ]);
  }

  completeUpload(
    key: string,
    uploadId: string,
    parts: readonly { readonly partNumber: number; readonly etag: string }[],
    options: { readonly condition?: Condition; readonly transferChecksum?: TransferChecksum } = {},
    work?: CallWork,
  ): Promise<ObjectRecord> {
    return this.#call(work, 'bucket.completeUpload', this.#address, key, uploadId, parts, options);
  }

  async abortUpload(key: string, uploadId: string, work?: CallWork): Promise<void> {
    await this.#call(work, 'bucket.abortUpload', this.#address, key, uploadId);
  }

  findCompleted(key: string, uploadId: string): Promise<CompletedUpload | null> {
    return this.#link.call('bucket.findCompleted', this.#address, key, uploadId);
  }

  findUpload(key: string, uploadId: string): Promise<UploadRecord | null> {
    return this.#link.call('bucket.findUpload', this.#address, key, uploadId);
  }

  listParts(uploadId: string, after: number, limit: number): Promise<{ parts: PartRecord[]; truncated: boolean }> {
    return this.#link.call('bucket.listParts', this.#address, uploadId, after, limit);
  }

  listUploads(query: UploadQuery): Promise<{ uploads: UploadRecord[]; truncated: boolean }> {
    return this.#link.call('bucket.listUploads', this.#address, query);
  }

  #call<Name extends BucketCall>(
    work: CallWork | undefined,
    name: Name,
    ...args: CallArguments<Name>
  ): Promise<CallResult<Name>> {
    work?.charge(HOST_COSTS.callMs);
    return this.#link.call(name, ...args);
  }

  async #write<Name extends WritingCall>(
    body: ServiceBody,
    { signal, transferChecksum, ...options }: PutOptions,
    work: CallWork | undefined,
    request: (options: PutArguments) => readonly [Name, ...Parameters<BodyCalls[Name]>],
  ): Promise<CallResult<Name>> {
    signal?.throwIfAborted();
    work?.charge(HOST_COSTS.callMs);
    // It is known as soon as the body was read, and bytes were.
    const known = body instanceof Uint8Array ? await transferChecksum?.() : transferChecksum && ('trailer' as const);
    const head = packHead(request({ ...options, ...(known !== undefined && { transferChecksum: known }) }));
    const channel = await this.#link.channel();
    const call = new OutgoingCall(channel, head, bodyOf(body));
    if (!(body instanceof Uint8Array)) {
      const charged = work === undefined ? body : chargedBody(body, work, HOST_COSTS.sentMbMs);
      sendBody(channel, call, charged, transferChecksum);
    }
    const abort = guarded((): void => call.giveUp(signal?.reason));
    signal?.addEventListener('abort', abort, { once: true });
    try {
      return await resultOf<Name>(await call.reply);
    } finally {
      signal?.removeEventListener('abort', abort);
    }
  }
}
