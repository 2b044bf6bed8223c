/** The bindings that this realm can make: the only list of them on the guest's side, beside bindings/registry.ts on the host's. */
import { createBucketClient } from '../bindings/bucket/client/client.ts';
import type { ClientPlatform } from '../bindings/client-platform.ts';
import { createKvClient } from '../bindings/kv/client/client.ts';
import { createSqlClient } from '../bindings/sql/client/client.ts';
import { ServiceId } from '../quotas/service-calls.ts';
import { createCallbacks } from './callbacks/client.ts';
import { createUnavailable } from './env/unavailable.ts';
import { createLoader } from './loaders/loader.ts';
import { createNamespace } from './objects/namespace.ts';
import { createQueue } from './queue/client.ts';
import { createAssets } from './rpc/assets.ts';
import { createServiceBinding } from './rpc/calls.ts';
import type { Blob } from './web/file/blob.ts';
import type { ReadableStream } from './web/streams/streams.ts';

export interface GuestBinding {
  /** The `id` of its row on the host's side. */
  readonly service: ServiceId;
  /**
   * Creates the object that the function finds in its environment, once for each name.
   * @param config the result of `guestConfig` of the row on the host's side
   */
  create(platform: ClientPlatform<ReadableStream, Blob>, name: string, config: unknown): object;
}

export const BINDINGS: readonly GuestBinding[] = [
  { service: ServiceId.Bucket, create: createBucketClient },
  { service: ServiceId.Kv, create: createKvClient },
  { service: ServiceId.Callback, create: createCallbacks },
  { service: ServiceId.Function, create: (_platform, name) => createServiceBinding(name) },
  { service: ServiceId.Loader, create: createLoader },
  { service: ServiceId.Assets, create: (_platform, name) => createAssets(name) },
  { service: ServiceId.Queue, create: createQueue },
  { service: ServiceId.Sql, create: createSqlClient },
  { service: ServiceId.ObjectCall, create: (_platform, name, config) => createNamespace(name, config as never) }, // the host's own guestConfig
  { service: ServiceId.Unavailable, create: createUnavailable },
];
