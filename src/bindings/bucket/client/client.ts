import { keyOf } from '../../client-arguments.js';
import type { ClientStream } from '../../client-platform.js';
import type { BucketWireArguments, WireList, WireObject } from './calls.js';
import {
  badValue,
  bodyOf,
  fields,
  plainCondition,
  plainHash,
  plainNumber,
  plainRange,
  takeMetadata,
  wirePart,
} from './client-arguments.js';
import { listedObjects } from './client-list.js';
import { ClientObject, ClientObjectBody } from './client-object.js';
import type { BucketPlatform } from './client-platform.js';

/**
 * The bucket as a program sees it (StoreBucket): one implementation, for functions inside their realm and for the application. It uses no
 * types and objects of a platform except those that it is given, and leaves the checks of arguments to the service behind `call`.
 */
export function createBucketClient<Stream extends ClientStream, BlobType>(platform: BucketPlatform<Stream, BlobType>) {
  const { call } = platform;

  const upload = (key: string, uploadId: string): ClientUpload => ({
    key,
    uploadId,
    async uploadPart(partNumber: unknown, value: unknown) {
      if (value === null || value === undefined) throw new TypeError(`uploadPart: ${badValue(value)}`);
      const body = bodyOf<Stream>('uploadPart', value);
      const args = { key, uploadId, partNumber: plainNumber(partNumber) };
      const { head } = await call('uploadPart', args, body instanceof Promise ? await body : body);
      return uncheckedPart(head);
    },
    async abort() {
      await call('abortMultipartUpload', { key, uploadId }, null);
    },
    async complete(uploadedParts: unknown) {
      const parts = Array.isArray(uploadedParts) ? uploadedParts.map(wirePart) : uploadedParts;
      const { head } = await call('completeMultipartUpload', { key, uploadId, parts }, null);
      return new ClientObject(uncheckedObject(head));
    },
  });

  function get(
    key: unknown,
    options?: { readonly onlyIf?: undefined } | null,
  ): Promise<ClientObjectBody<Stream, BlobType> | null>;
  function get(key: unknown, options?: unknown): Promise<ClientObjectBody<Stream, BlobType> | ClientObject | null>;
  async function get(
    key: unknown,
    options?: unknown,
  ): Promise<ClientObjectBody<Stream, BlobType> | ClientObject | null> {
    const args: BucketWireArguments['get'] = { key: keyOf('get', key) };
    if (options !== undefined && options !== null) {
      const { onlyIf, range } = fields('get', options);
      if (onlyIf !== undefined) args.onlyIf = plainCondition(onlyIf);
      if (range !== undefined) args.range = plainRange(range);
    }
    const { head, body } = await call('get', args, null, lengthOf);
    if (head === null) return null;
    const object = uncheckedObject(head);
    if (object.hasBody !== true) return new ClientObject(object);
    return new ClientObjectBody(object, body ?? new Uint8Array(0), platform);
  }

  return {
    async head(key: unknown): Promise<ClientObject | null> {
      const { head } = await call('head', { key: keyOf('head', key) }, null);
      return head === null ? null : new ClientObject(uncheckedObject(head));
    },

    get,

    async put(key: unknown, value: unknown, options?: unknown): Promise<ClientObject | null> {
      const args: BucketWireArguments['put'] = { key: keyOf('put', key) };
      if (options !== undefined && options !== null) {
        const given = fields('put', options);
        if (given.onlyIf !== undefined) args.onlyIf = plainCondition(given.onlyIf);
        takeMetadata(args, given);
        for (const name of HASHES) {
          if (given[name] !== undefined) args[name] = plainHash(given[name]);
        }
      }
      // Without waiting: the transport takes a buffer as it is now, before the caller can change it.
      const body = bodyOf<Stream>('put', value);
      const { head } = await call('put', args, body instanceof Promise ? await body : body);
      return head === null ? null : new ClientObject(uncheckedObject(head));
    },

    async delete(keys: unknown): Promise<void> {
      const all = Array.isArray(keys) ? keys.map(key => keyOf('delete', key)) : [keyOf('delete', keys)];
      await call('delete', { keys: all }, null);
    },

    async list(options?: unknown): Promise<ClientList> {
      const args: BucketWireArguments['list'] = {};
      if (options !== undefined && options !== null) {
        const given = fields('list', options);
        for (const name of LIST_OPTIONS) {
          if (given[name] !== undefined) args[name] = plainNumber(given[name]);
        }
      }
      const { head } = await call('list', args, null);
      const { objects, delimitedPrefixes, truncated, cursor } = uncheckedList(head);
      return {
        objects: listedObjects(objects),
        delimitedPrefixes: [...delimitedPrefixes],
        truncated,
        ...(cursor === undefined ? undefined : { cursor }),
      };
    },

    async createMultipartUpload(key: unknown, options?: unknown): Promise<ClientUpload> {
      const args: BucketWireArguments['createMultipartUpload'] = { key: keyOf('createMultipartUpload', key) };
      if (options !== undefined && options !== null) takeMetadata(args, fields('createMultipartUpload', options));
      const { head } = await call('createMultipartUpload', args, null);
      return upload(args.key, uncheckedUploadId(head));
    },

    resumeMultipartUpload(key: unknown, uploadId: unknown): ClientUpload {
      return upload(keyOf('resumeMultipartUpload', key), `${uploadId}`);
    },
  };
}

export interface ClientUpload {
  readonly key: string;
  readonly uploadId: string;
  uploadPart(partNumber: unknown, value: unknown): Promise<{ partNumber: number; etag: string }>;
  abort(): Promise<void>;
  complete(uploadedParts: unknown): Promise<ClientObject>;
}

export interface ClientList {
  objects: ClientObject[];
  delimitedPrefixes: string[];
  truncated: boolean;
  cursor?: string;
}

const HASHES = ['md5', 'sha1', 'sha256', 'sha384', 'sha512'] as const;
const LIST_OPTIONS = ['limit', 'prefix', 'cursor', 'delimiter', 'startAfter', 'include'] as const;

function lengthOf(head: unknown): number | undefined {
  return head === null ? undefined : uncheckedObject(head).range?.length;
}

// Heads come from the service of the host, which the client trusts and never the other way round: these are casts by name.
function uncheckedObject(head: unknown): WireObject {
  return head as WireObject;
}

function uncheckedList(head: unknown): WireList {
  return head as WireList;
}

function uncheckedUploadId(head: unknown): string {
  return (head as { uploadId: string }).uploadId;
}

function uncheckedPart(head: unknown): { partNumber: number; etag: string } {
  return head as { partNumber: number; etag: string };
}
