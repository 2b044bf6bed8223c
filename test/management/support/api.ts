/** A management API over memory, and a client that speaks to it. */

import { MemoryLevel } from 'memory-level';
import { queueBinding } from '../../../src/bindings/queue/queue-binding.js';
import { NameOwners } from '../../../src/hostnames/name-owners.js';
import { createManagement, type Management, type ManagementOptions } from '../../../src/management/management.js';
import type { ManagementStorage } from '../../../src/management/state/records.js';
import { memoryDatabases } from './memory-databases.js';
import { MemoryBuckets, MemoryFunctions, memoryDirectories } from './memory-port.js';
import { memoryQueues } from './memory-queues.js';
import { asStorage } from './open-level.js';

export const TOKEN = 'test-token-of-acme-with-all-permissions';
/** For all accounts. */
export const OWNER_TOKEN = 'test-token-of-the-owner-of-the-host';
export const OTHER_TOKEN = 'test-token-of-other-with-all-permissions';
export const READ_TOKEN = 'test-token-of-acme-that-only-reads-zones';

/** So that another API over the same storage opens its secrets. */
export const SECRETS_KEY = new Uint8Array(32).fill(3);

/** Names that do not belong to an account yet. */
export function newNames(onInactive: (message: string) => void = () => {}): NameOwners {
  return new NameOwners({ onChange: () => {}, onInactive });
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Body;
  /** `body.result` of one record. */
  readonly result: Readonly<Record<string, unknown>>;
}

interface Body {
  readonly result: unknown;
  readonly success: boolean;
  readonly errors: readonly {
    readonly code: number;
    readonly message: string;
    readonly error_chain?: readonly { code: number; message: string }[];
  }[];
  readonly messages: readonly { readonly code: number; readonly message: string }[];
  readonly result_info?: Readonly<Record<string, unknown>>;
}

export interface CallOptions {
  readonly token?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Api {
  readonly management: Management;
  readonly functions: MemoryFunctions;
  readonly buckets: MemoryBuckets;
  readonly storage: MemoryLevel;
  readonly clock: { now: string };
  /** A body that is FormData is sent as it is, anything else as JSON. */
  call(method: string, path: string, body?: unknown, options?: CallOptions): Promise<Answer>;
  /** The id of a new zone. */
  zone(name?: string): Promise<string>;
}

let makeStorage = (): MemoryLevel => new MemoryLevel();

/** From here on every API of this process has a storage that this makes. */
export function useStorage(make: () => ManagementStorage): void {
  makeStorage = () => make() as unknown as MemoryLevel; // the tests use what every level has
}

export function makeApi(options: Partial<ManagementOptions> = {}, now = '2026-01-01T00:00:00Z'): Api {
  const storage = asStorage(makeStorage());
  const functions = new MemoryFunctions();
  const buckets = new MemoryBuckets();
  const queues = memoryQueues();
  const databases = memoryDatabases();
  functions.clientOf = (row, account, name) =>
    (row.name === queueBinding.name ? queues.queue : databases.sql)(account, String(name)) as never; // the client of the row
  const clock = { now };
  const management = createManagement({
    storage,
    functions,
    directoryOf: memoryDirectories(buckets, queues, databases),
    names: newNames(),
    zoneOwnership: () => true,
    secretsKey: SECRETS_KEY,
    now: () => new Date(clock.now),
    tokens: [
      { name: 'all', token: TOKEN, account: 'acme', permissions: 'all' },
      { name: 'other', token: OTHER_TOKEN, account: 'other', permissions: 'all' },
      { name: 'owner', token: OWNER_TOKEN, account: '*', permissions: ['accounts:edit'] },
      { name: 'reader', token: READ_TOKEN, account: 'acme', permissions: ['zones:read'] },
    ],
    ...options,
  });
  const api: Api = {
    management,
    functions,
    buckets,
    storage,
    clock,
    async call(method, path, body, { token = TOKEN, headers: given = {} } = {}) {
      const headers = new Headers(given);
      if (token !== null) headers.set('authorization', `Bearer ${token}`);
      const isForm = body instanceof FormData;
      if (body !== undefined && !isForm && !headers.has('content-type'))
        headers.set('content-type', 'application/json');
      const request = new Request(`http://localhost${path}`, {
        method,
        headers,
        ...(body === undefined ? {} : { body: isForm || typeof body === 'string' ? body : JSON.stringify(body) }),
      });
      return readAnswer(await management.fetch(request, { clientAddress: '192.0.2.7' }));
    },
    async zone(name = 'example.com') {
      const { result } = await api.call('POST', '/zones', { name, account: { id: 'acme' } });
      return String(result.id);
    },
  };
  return api;
}

export async function readAnswer(response: Response): Promise<Answer> {
  const text = await response.text();
  const body: Body =
    response.headers.get('content-type')?.startsWith('application/json') && text !== ''
      ? JSON.parse(text)
      : { result: text };
  const result = isRecord(body.result) ? body.result : {};
  return { status: response.status, headers: response.headers, body, result };
}

export function upload(source: string, metadata: Readonly<Record<string, unknown>> = {}): FormData {
  const form = new FormData();
  form.set('metadata', JSON.stringify({ main_module: 'index.js', ...metadata }));
  form.set('index.js', new File([source], 'index.js', { type: 'application/javascript+module' }));
  return form;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
